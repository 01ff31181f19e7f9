package timestamp_test

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/chain/timestamp"
	"tidemark/test/tsa"
)

func client(t *testing.T, a tsa.Authority, url string) timestamp.Client {
	t.Helper()
	roots, err := timestamp.ReadRoots(a.Root)
	if err != nil {
		t.Fatal(err)
	}
	return timestamp.Client{URL: url, Roots: roots, Now: time.Now, Transport: http.DefaultTransport}
}

const checkpoint = "tidemark.example/log\n1000\nrv1brhq9fzeA1yGK2IArraw60/AGZj8r8UmQNCOqTuk=\n"

func TestOpenSSLStampsAndTakesWhatWeKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ key, ess string }{{"P-256", "sha256"}, {"P-384", "sha1"}, {"rsa", "sha512"}} {
		t.Run(tt.key+" "+tt.ess, func(t *testing.T) {
			t.Parallel()
			a := tsa.New(t, tt.key, tt.ess)
			before := time.Now().Truncate(time.Second)
			reply, s, err := client(t, a, a.Serve()).Ask(t.Context(), []byte(checkpoint))
			if err != nil {
				t.Fatal(err)
			}
			if s.At.Before(before) || s.At.After(time.Now()) || s.Authority != "CN=Time of the test,O=Example" {
				t.Errorf("stamped %+v", s)
			}
			a.Write("kept.tsr", string(reply))
			a.Write("text", checkpoint)
			out := tsa.OpenSSL(t, "ts", "-verify", "-in", a.File("kept.tsr"), "-data", a.File("text"), "-CAfile", a.Root)
			if !strings.Contains(string(out), "Verification: OK") {
				t.Errorf("openssl says %s", out)
			}
		})
	}
}

func TestOpenSSLReadsOurRequests(t *testing.T) {
	t.Parallel()
	a := tsa.New(t, "P-256", "sha256")
	asked := make(chan []byte, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		query, _ := io.ReadAll(r.Body)
		asked <- query
	}))
	defer s.Close()
	if _, _, err := client(t, a, s.URL).Ask(t.Context(), []byte(checkpoint)); err == nil {
		t.Error("an empty answer was taken")
	}
	a.Write("q", string(<-asked))
	out := string(tsa.OpenSSL(t, "ts", "-query", "-in", a.File("q"), "-text"))
	for _, want := range []string{"Hash Algorithm: sha256", "Certificate required: yes", "Nonce: 0x"} {
		if !strings.Contains(out, want) {
			t.Errorf("openssl reads no %q:\n%s", want, out)
		}
	}
}

func TestAnAnswerThatLiesIsRefused(t *testing.T) {
	t.Parallel()
	a := tsa.New(t, "P-256", "sha256")
	other, good := a.Stamp("another checkpoint\n", "-cert"), a.Stamp(checkpoint, "-cert")
	stranger := tsa.New(t, "P-256", "sha256")
	flipped := func(at int) []byte {
		b := append([]byte(nil), good...)
		b[at] ^= 1
		return b
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		says   string
	}{
		{"a token of another text", say(other), "of another text"},
		{"an earlier token, without the nonce", say(good), "its nonce is not the one"},
		{"an earlier token, with its own nonce", say(a.Stamp(checkpoint, "-cert")), "its nonce is not the one"},
		{"without a certificate", say(a.Stamp(checkpoint, "-no_nonce")), "certificate"},
		{"a root that nobody believes", say(stranger.Stamp(checkpoint, "-cert")), "unknown authority"},
		{"a signature of other bits", say(flipped(len(good) - 3)), "signature"},
		{"refused", say([]byte{0x30, 0x05, 0x30, 0x03, 0x02, 0x01, 0x02}), "granted no time stamp"},
		{"granted without a token", say([]byte{0x30, 0x05, 0x30, 0x03, 0x02, 0x01, 0x00}), "not whole"},
		{"cut", say(good[:len(good)-1]), "not whole"},
		{"cut early", say(good[:20]), "not whole"},
		{"a byte more", say(append(append([]byte(nil), good...), 0)), "not whole"},
		{"empty", say(nil), "not whole"},
		{"10 MB", say(make([]byte, 10<<20)), "more than 65536 bytes"},
		{"hung", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then is the server told that the client left
			<-r.Context().Done()
		}, "deadline exceeded"},
		{"hung after its head", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(io.Discard, r.Body) // only then is the server told that the client left
			<-r.Context().Done()
		}, "deadline exceeded"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				t.Error("the redirect was followed")
			}
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		}, "answers 307"},
		{"an error with a good body", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(good)
		}, "answers 500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(tt.answer)
			defer s.Close()
			c := client(t, a, s.URL)
			if strings.HasPrefix(tt.name, "hung") {
				c.Timeout = 50 * time.Millisecond
			}
			reply, _, err := c.Ask(t.Context(), []byte(checkpoint))
			if err == nil || reply != nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}

func say(answer []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) }
}

func TestTheTimeOfAStampIsNearTheAskersClock(t *testing.T) {
	t.Parallel()
	a := tsa.New(t, "P-256", "sha256")
	c := client(t, a, a.Serve())
	for _, off := range []time.Duration{-6 * time.Minute, 6 * time.Minute} {
		c.Now = func() time.Time { return time.Now().Add(off) }
		if _, _, err := c.Ask(t.Context(), []byte(checkpoint)); err == nil || !strings.Contains(err.Error(), "the clock here differs") {
			t.Errorf("a clock that is %s off: %v", off, err)
		}
	}
}

// resign signs the statement of a stamp anew, with a certificate that OpenSSL's authority would not take, and at another time that it states.
func resign(t *testing.T, a tsa.Authority, reply []byte, template x509.Certificate, at time.Time) []byte {
	t.Helper()
	a.Write("good.tsr", string(reply))
	tsa.OpenSSL(t, "ts", "-reply", "-in", a.File("good.tsr"), "-token_out", "-out", a.File("token"))
	tsa.OpenSSL(t, "cms", "-verify", "-noverify", "-inform", "DER", "-in", a.File("token"), "-out", a.File("statement"))
	statement := a.Read("statement")
	where := regexp.MustCompile(`\d{14}Z`).FindIndex(statement)
	copy(statement[where[0]:], at.UTC().Format("20060102150405Z"))
	a.Write("statement", string(statement))
	root, err := x509.ParseCertificate(a.PEM("root.pem"))
	if err != nil {
		t.Fatal(err)
	}
	rootKey, err := x509.ParsePKCS8PrivateKey(a.PEM("root.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(a.PEM("tsa.key"))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(9), pkix.Name{CommonName: "Another time"}
	der, err := x509.CreateCertificate(rand.Reader, &template, root, key.(crypto.Signer).Public(), rootKey)
	if err != nil {
		t.Fatal(err)
	}
	a.Write("another.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	tsa.OpenSSL(t, "cms", "-sign", "-binary", "-nodetach", "-cades", "-md", "sha256", "-econtent_type", "1.2.840.113549.1.9.16.1.4", "-in", a.File("statement"),
		"-signer", a.File("another.pem"), "-inkey", a.File("tsa.key"), "-outform", "DER", "-out", a.File("token"))
	type status struct{ Status int }
	out, err := asn1.Marshal(struct {
		Status status
		Token  asn1.RawValue
	}{Token: asn1.RawValue{FullBytes: a.Read("token")}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// backdate makes the root an hour older.
func backdate(t *testing.T, a tsa.Authority) {
	t.Helper()
	root, err := x509.ParseCertificate(a.PEM("root.pem"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(a.PEM("root.key"))
	if err != nil {
		t.Fatal(err)
	}
	root.NotBefore = root.NotBefore.Add(-time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, root, root, root.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a.Write("root.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

func TestOnlyACertificateForTimeStampsThatWasGoodThenCounts(t *testing.T) {
	t.Parallel()
	a := tsa.New(t, "P-256", "sha256")
	good := a.Stamp(checkpoint, "-cert")
	backdate(t, a)
	roots, err := timestamp.ReadRoots(a.Root)
	if err != nil {
		t.Fatal(err)
	}
	usage := func(critical bool, purposes ...int) []pkix.Extension {
		var list []asn1.ObjectIdentifier
		for _, p := range purposes {
			list = append(list, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, p})
		}
		der, err := asn1.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: critical, Value: der}}
	}
	const stamps, servers = 8, 1
	now := time.Now().Truncate(time.Second)
	for _, tt := range []struct {
		name     string
		use      []pkix.Extension
		from, to time.Duration
		at       time.Duration
		says     string
	}{
		{"good", usage(true, stamps), -time.Hour, time.Hour, 0, ""},
		{"expired since, and good at its time", usage(true, stamps), -10 * time.Minute, -time.Minute, -5 * time.Minute, ""},
		{"expired at its time", usage(true, stamps), -10 * time.Minute, -5 * time.Minute, -time.Minute, "expired"},
		{"not yet good at its time", usage(true, stamps), -10 * time.Minute, time.Hour, -15 * time.Minute, "expired or is not yet valid"},
		{"no purpose", nil, -time.Hour, time.Hour, 0, "not one for time stamps alone"},
		{"for servers", usage(true, servers), -time.Hour, time.Hour, 0, "not one for time stamps alone"},
		{"for both", usage(true, stamps, servers), -time.Hour, time.Hour, 0, "not one for time stamps alone"},
		{"not critical", usage(false, stamps), -time.Hour, time.Hour, 0, "not one for time stamps alone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply := resign(t, a, good, x509.Certificate{NotBefore: now.Add(tt.from), NotAfter: now.Add(tt.to), ExtraExtensions: tt.use}, now.Add(tt.at))
			s, err := timestamp.Check(reply, []byte(checkpoint), roots)
			switch {
			case tt.says == "" && (err != nil || !s.At.Equal(now.Add(tt.at)) || s.Authority != "CN=Another time"):
				t.Errorf("%+v %v", s, err)
			case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}
