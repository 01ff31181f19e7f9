package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"tidemark/chain"
)

// chainOf returns the record of one pick with the given price. Its hash is the hash for the price 243.85.
func chainOf(t *testing.T, price string) string {
	t.Helper()
	l, err := chain.Next(chain.Checkpoint{}, "AAPL", "243.85", "2025-01-02")
	if err != nil {
		t.Fatal(err)
	}
	hash := l.Hash
	l.Price = price
	body := fmt.Sprintf(`{"valid":true,"chain_length":1,"algorithm":"SHA-256","hash_rule":"ticker|price|date|previous_hash","encoding":"UTF-8, lowercase hex",
"genesis_hash":%q,"head_hash":%q,"head_date":"2025-01-02","verified_at":"2025-01-02T23:30:00Z","first_invalid_seq":null,
"picks":[{"seq":1,"ticker":"AAPL","price":%q,"date":"2025-01-02","previous_hash":%q,"hash":%q,"preimage":%q,"attestation_status":"pending"}],
"git":{"repository":null},"gaps":[],"corrections":[],"attestation":{"network":null,"latest":null},
"checks":{"hashes":"ok","links":"ok"},"environment":"demo"}`, chain.Genesis, hash, price, chain.Genesis, hash, chain.Preimage(l))
	return body
}

// serveChain serves chainOf.
func serveChain(t *testing.T, price string) string {
	t.Helper()
	body := chainOf(t, price)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestVerifyPrintsALineACheckAndExitsByIt(t *testing.T) {
	t.Parallel()
	good, bad := serveChain(t, "243.85"), serveChain(t, "234.85")
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"a record that holds", []string{"--url", good}, 0, []string{"ok           hashes", "ok           business_days", "not checked  git", "not checked  attestations", "Self-consistent: 1 picks", "no witness was asked"}},
		{"a demonstration by its own clock", []string{"--url", good}, 0, []string{"so its own clock counted"}},
		{"a demonstration that stopped, where witnesses are required", []string{"--url", good, "--require", "witnessed"}, 1, []string{"MISMATCH     business_days", "by your clock"}},
		{"a wrong price", []string{"--url", bad + "/"}, 1, []string{"MISMATCH     hashes", "pick 1", "Contradicted: "}},
		{"a checkpoint that does not hold", []string{"--url", good, "--checkpoint", "1:" + strings.Repeat("ab", 32)}, 1, []string{"MISMATCH     checkpoint", "Contradicted: 1 picks", "your checkpoint: after 1 picks it holds abab"}},
		{"no checkpoint", []string{"--url", good, "--checkpoint", "x"}, 2, []string{"LENGTH:HASH"}},
		{"no server", []string{"--url", "http://127.0.0.1:1"}, 2, []string{"nothing listens at 127.0.0.1:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			status := run(t.Context(), append([]string{"verify"}, tt.args...), &out, &out)
			if status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			for _, want := range tt.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it says\n%s\nwant %q in it", out.String(), want)
				}
			}
		})
	}
	t.Run("orders to the terminal", func(t *testing.T) {
		t.Parallel()
		const order = "\x1b]0;pwned\x07\x1b[2J\u009b2J\u202e"
		for name, answer := range map[string]http.HandlerFunc{
			"in the record": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(strings.Replace(chainOf(t, "234.85"), `"demo"`, `"\u001b[2J\u009b"`, 1)))
			},
			"in the media type": func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{"text/html" + order}
				_, _ = w.Write([]byte("{}"))
			},
			"in a problem": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusTeapot)
				_, _ = w.Write([]byte(`{"detail":"\u001b[2J\u009b"}`))
			},
			"in a redirect": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://x/\u009b2J\u202e")
				w.WriteHeader(http.StatusFound)
			},
			"in the status": func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					_, _ = conn.Write([]byte("HTTP/1.1 500 " + order + "\r\nContent-Length: 0\r\n\r\n"))
					_ = conn.Close()
				}
			},
		} {
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			var out bytes.Buffer
			if status := run(t.Context(), []string{"verify", "--url", server.URL}, &out, &out); status != 1 && status != 2 { // a contradiction, or no verdict
				t.Errorf("%s: exit status %d", name, status)
			}
			if i := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); i >= 0 {
				t.Errorf("%s: %q is printed", name, out.String())
			}
		}
	})
	t.Run("as JSON", func(t *testing.T) {
		t.Parallel()
		var out, stderr bytes.Buffer
		if status := run(t.Context(), []string{"verify", "--json", "--url", bad}, &out, &stderr); status != 1 {
			t.Errorf("exit status %d", status)
		}
		var r struct {
			Verified bool
			Checks   []struct{ Name, Status, Detail string }
		}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Verified || len(r.Checks) < 5 || r.Checks[0].Status != "mismatch" {
			t.Errorf("%v: %s", err, out.Bytes())
		}
	})
}
