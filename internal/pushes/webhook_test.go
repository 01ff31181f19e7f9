package pushes_test

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/publicnet"
	"tidemark/internal/pushes"
)

// The vector is that of the specification of Standard Webhooks.
func TestSignaturesAreThoseOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	got, err := pushes.Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("Sign = %s, %v, want %s", got, err, want)
	}
	secret, err := pushes.NewSecret()
	raw, derr := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || derr != nil || len(raw) < 24 || len(raw) > 64 {
		t.Errorf("the secret %q has %d bytes: %v %v", secret, len(raw), err, derr)
	}
}

func TestOnlyAddressesOfThePublicInternetCanBeWebhooks(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "hooks.example.com", "http://hooks.example.com/", "ftp://hooks.example.com/", "https://", "https:///x", "https:hooks.example.com",
		"https://user:password@hooks.example.com/", "https://user@hooks.example.com/", "https://hooks.example.com/#part", "https://hooks.example.com/#",
		"https://hooks.example.com:22/", "https://hooks.example.com:25/", "https://hooks.example.com:80/", "https://hooks.example.com:0/", "https://hooks.example.com:65536/",
		"https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://10.0.0.1/", "https://192.168.1.1/", "https://172.16.0.1/",
		"https://169.254.169.254/latest/meta-data/", "https://100.64.0.1/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://[fe80::1%25eth0]/",
		"https://[fd00:ec2::254]/", "https://224.0.0.1/", "https://[::7f00:1]/", "https://0.0.0.0/", "https://2130706433/", "https://0x7f.1/", "https://127.1/",
		"https://localhost/", "https://redis/", "https://metadata.google.internal/", "https://printer.local/",
		"https://hooks.example.com/a b", "https://hooks.example.com/\n", "https://hooks.exämple.com/", "https://hooks.example.com/" + strings.Repeat("x", 2048),
	} {
		if err := pushes.CheckTarget(bad, false); err == nil {
			t.Errorf("%q is allowed", bad)
		}
	}
	for _, good := range []string{"https://hooks.example.com/tidemark?x=1", "https://hooks.example.com:8443/", "https://8.8.8.8/", "https://[2606:4700::1111]:443/x"} {
		if err := pushes.CheckTarget(good, false); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if err := pushes.CheckTarget("http://127.0.0.1:8080/", true); err != nil {
		t.Errorf("in a sandbox: %v", err)
	}
}

// FuzzTarget checks that an allowed address has exactly one reading: what is checked is what is dialled.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"https://hooks.example.com/", "https://127.0.0.1:443/", "https://[64:ff9b::7f00:1]/", "https://a@b/", "https://0x7f.1/", "https://1.1.1.1\\@127.0.0.1/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if pushes.CheckTarget(address, false) != nil {
			return
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, http.NoBody)
		if err != nil {
			t.Fatalf("%q is allowed and no request can be made: %v", address, err)
		}
		if r.URL.Scheme != "https" || r.URL.User != nil {
			t.Errorf("%q is allowed with the scheme %s and the user %v", address, r.URL.Scheme, r.URL.User)
		}
		if a, err := netip.ParseAddr(r.URL.Hostname()); err == nil && !publicnet.IsPublic(a) {
			t.Errorf("%q is allowed and leads to %s", address, a)
		}
		if again, err := url.Parse(r.URL.String()); err != nil || again.Host != r.URL.Host {
			t.Errorf("%q has two readings", address)
		}
	})
}

func sender(private bool, timeout time.Duration) *pushes.Sender {
	return pushes.NewSender(pushes.SenderOptions{
		Private: private, Agent: "test", Timeout: timeout, Now: func() time.Time { return time.Unix(1614265330, 0) },
	})
}

// The name is one of the public internet, and resolves to this machine: what counts is the address that is dialled.
func TestANameThatLeadsInsideIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The control is asked by the dialer itself, after the lookup: an address here stands for what a name resolved to.
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "[64:ff9b::7f00:1]"} {
		c, err := (&net.Dialer{Control: publicnet.Control}).DialContext(ctx, "tcp", host+":"+port)
		if err == nil {
			_ = c.Close()
			t.Errorf("%s was connected to", host)
		}
	}
	// The check of the address itself, without that of the name: the fault is that of a name that does not exist.
	inside, err := pushes.NewSender(pushes.SenderOptions{Now: time.Now}).SendUnchecked(t.Context(), pushes.Message{URL: s.URL, ID: "msg_1"})
	if err != nil || inside.Status != 0 || inside.Fault != "the host has no address in the public internet" {
		t.Errorf("an address of this machine: %+v, %v", inside, err)
	}
	got, err := sender(false, 0).Send(t.Context(), pushes.Message{URL: "https://localhost.:" + port + "/", ID: "msg_1", Body: []byte("{}")})
	if err != nil || got.Accepted() || got.Status != 0 || asked.Load() != 0 {
		t.Errorf("the outcome is %+v, %v, and the server was asked %d times", got, err, asked.Load())
	}
}

func TestAMessageIsSignedWithEverySecret(t *testing.T) {
	t.Parallel()
	var header http.Header
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	m := pushes.Message{URL: s.URL, ID: "msg_1", Body: []byte(`{"type":"test"}`), Attempt: 3, Secrets: []string{"whsec_bmV3", "whsec_b2xk"}}
	got, err := sender(true, 0).Send(t.Context(), m)
	if err != nil || !got.Accepted() {
		t.Fatalf("%+v, %v", got, err)
	}
	var want []string
	for _, secret := range m.Secrets {
		one, err := pushes.Sign(secret, "msg_1", time.Unix(1614265330, 0), m.Body)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, one)
	}
	if header.Get("Webhook-Signature") != strings.Join(want, " ") || header.Get("Webhook-Id") != "msg_1" || header.Get("Webhook-Timestamp") != "1614265330" ||
		header.Get("Tidemark-Attempt") != "3" || header.Get("Content-Type") != "application/json" || string(body) != string(m.Body) {
		t.Errorf("%v %s", header, body)
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	var inside atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/inside" {
			inside.Add(1)
			return
		}
		http.Redirect(w, r, "/inside", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(s.Close)
	got, err := sender(true, 0).Send(t.Context(), pushes.Message{URL: s.URL, ID: "msg_1"})
	if err != nil || got.Accepted() || got.Status != http.StatusTemporaryRedirect || inside.Load() != 0 {
		t.Errorf("%+v, %v, and %d requests inside", got, err, inside.Load())
	}
}

func TestAReceiverThatHangsOrSendsWithoutEndIsLeft(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			for { // until the client closes
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	got, err := sender(true, 200*time.Millisecond).Send(t.Context(), pushes.Message{URL: s.URL + "/hangs", ID: "msg_1"})
	if err != nil || got.Status != 0 || got.Fault != "no response in time" {
		t.Errorf("a receiver that hangs: %+v, %v", got, err)
	}
	got, err = sender(true, time.Minute).Send(t.Context(), pushes.Message{URL: s.URL + "/endless", ID: "msg_1"})
	if err != nil || !got.Accepted() {
		t.Errorf("an endless response: %+v, %v", got, err)
	}
}

// The holder of a key reads why a message was not accepted. That must not tell a closed port from another fault.
func TestAFaultTellsNothingOfTheNetwork(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	got, err := sender(true, 0).Send(t.Context(), pushes.Message{URL: "http://" + address, ID: "msg_1"})
	if err != nil || got.Fault != "no connection, or no response" {
		t.Errorf("%+v, %v", got, err)
	}
}
