// Package tsa gives tests a real time-stamp authority: the one of OpenSSL, behind a small server. Without openssl such a test is left out.
package tsa

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Authority is a time-stamp authority of OpenSSL, with its own root. Its files are in a folder of the test.
type Authority struct {
	t   *testing.T
	dir string
	// Root is the file of the root's certificate.
	Root string
}

const authorityConfig = `
[ca]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
[tsa]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[ts]
default_tsa = one
[one]
serial = %[1]s/serial
crypto_device = builtin
signer_cert = %[1]s/tsa.PEM
certs = %[1]s/root.pem
signer_key = %[1]s/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = %[2]s
`

// OpenSSL runs openssl, which must succeed, and returns what it prints.
func OpenSSL(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "openssl", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// New makes the keys of an authority. ess is the hash with which its signatures name its certificate.
func New(t *testing.T, key, ess string) Authority {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not on this machine: the tests against its authority were left out")
	}
	a := Authority{t: t, dir: t.TempDir()}
	a.Root = a.File("root.pem")
	a.Write("conf", fmt.Sprintf(authorityConfig, a.dir, ess))
	a.Write("serial", "01\n")
	newKey := []string{"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:" + key}
	if key == "rsa" {
		newKey = []string{"-newkey", "rsa:2048"}
	}
	OpenSSL(t, append([]string{
		"req", "-x509", "-nodes", "-subj", "/CN=Root of the test", "-config", a.File("conf"), "-extensions", "ca", "-days", "30",
		"-keyout", a.File("root.key"), "-out", a.Root,
	}, newKey...)...)
	OpenSSL(t, append([]string{
		"req", "-new", "-nodes", "-subj", "/O=Example/CN=Time of the test", "-config", a.File("conf"),
		"-keyout", a.File("tsa.key"), "-out", a.File("tsa.csr"),
	}, newKey...)...)
	OpenSSL(t, "x509", "-req", "-in", a.File("tsa.csr"), "-CA", a.Root, "-CAkey", a.File("root.key"), "-set_serial", "7", "-days", "10",
		"-extfile", a.File("conf"), "-extensions", "tsa", "-out", a.File("tsa.PEM"))
	return a
}

// File returns the path of a file of the authority.
func (a Authority) File(name string) string { return filepath.Join(a.dir, name) }

// Write writes a file of the authority.
func (a Authority) Write(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(a.File(name), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// Answer lets OpenSSL answer a request.
func (a Authority) Answer(query []byte) ([]byte, error) {
	dir, err := os.MkdirTemp(a.dir, "answer")
	if err != nil {
		return nil, err
	}
	in, out := filepath.Join(dir, "q"), filepath.Join(dir, "r")
	if err := os.WriteFile(in, query, 0o600); err != nil {
		return nil, err
	}
	said, err := exec.CommandContext(a.t.Context(), "openssl", "ts", "-reply", "-config", a.File("conf"), "-section", "one", "-queryfile", in, "-out", out).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return os.ReadFile(out)
}

// Serve serves the authority over HTTP, and returns its address.
func (a Authority) Serve() string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := io.ReadAll(r.Body)
		if err == nil && (r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/timestamp-query") {
			err = fmt.Errorf("%s %s", r.Method, r.Header.Get("Content-Type"))
		}
		var reply []byte
		if err == nil {
			reply, err = a.Answer(query)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = w.Write(reply)
	}))
	a.t.Cleanup(s.Close)
	return s.URL
}

// Stamp asks OpenSSL about a text, without a nonce.
func (a Authority) Stamp(text string, args ...string) []byte {
	a.t.Helper()
	a.Write("text", text)
	OpenSSL(a.t, append([]string{"ts", "-query", "-data", a.File("text"), "-sha256", "-out", a.File("q")}, args...)...)
	query, err := os.ReadFile(a.File("q"))
	if err != nil {
		a.t.Fatal(err)
	}
	reply, err := a.Answer(query)
	if err != nil {
		a.t.Fatal(err)
	}
	return reply
}

// Read reads a file of the authority.
func (a Authority) Read(name string) []byte {
	a.t.Helper()
	b, err := os.ReadFile(a.File(name))
	if err != nil {
		a.t.Fatal(err)
	}
	return b
}

// PEM reads a file of the authority, and decodes its PEM.
func (a Authority) PEM(name string) []byte {
	a.t.Helper()
	block, _ := pem.Decode(a.Read(name))
	return block.Bytes
}
