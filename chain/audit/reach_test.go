package audit_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark/chain/audit"
)

// bystander is a service of this machine that a server must not make its verifier ask. It counts who connects.
func bystander(t *testing.T) (address string, connections *atomic.Int64) {
	t.Helper()
	connections = &atomic.Int64{}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = c.Close()
		}
	}()
	return ln.Addr().String(), connections
}

// public makes a server look as if it were in the Internet.
type public struct{ address string }

func (p public) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.URL.Host == "record.example" {
		r.URL.Scheme, r.URL.Host = "http", p.address
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestAServerDoesNotChooseWhoIsAsked(t *testing.T) {
	t.Parallel()
	address, connections := bystander(t)
	_, port, _ := net.SplitHostPort(address)
	for _, ledger := range []string{
		"http://" + address + "/ledger.git", "https://" + address + "/ledger.git", "git://" + address + "/ledger.git",
		"ssh://root@" + address + "/ledger.git", "https://localhost:" + port + "/ledger.git", "https://[::ffff:127.0.0.1]:" + port + "/ledger.git",
		"https://10.0.0.1/ledger.git", "https://169.254.169.254/ledger.git", "https://100.64.0.1/x", "https://[fe80::1]/x", "https://0.0.0.0:" + port + "/x",
		"root@127.0.0.1:ledger", "http://203.0.113.9/ledger.git", "git://203.0.113.9/ledger.git", "/etc", "file:///etc", "ext::sh -c true", "https://",
	} {
		r := newRecord(t, 2)
		r.Git["repository"] = ledger
		r.Attestation = map[string]any{
			"network": "eip155:31337", "contract": "0x4200000000000000000000000000000000000021", "attester": "0x4200000000000000000000000000000000000022",
			"schema_uid": "0x" + strings.Repeat("12", 32), "rpc_url": "http://" + address,
		}
		server := serve(t, r.handler(t))
		report, err := audit.Run(t.Context(), audit.Options{
			URL: "https://record.example", Now: now, Environ: os.Environ(), Transport: public{strings.TrimPrefix(server, "http://")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if c := check(t, report, "git"); c.Status != audit.NotChecked || !strings.Contains(c.Detail, "--ledger") {
			t.Errorf("%s: %s: %s", ledger, c.Status, c.Detail)
		}
		if c := check(t, report, "attestations"); c.Status != audit.NotChecked {
			t.Errorf("%s: %s: %s", ledger, c.Status, c.Detail)
		}
	}
	// Nor on this machine itself.
	r := newRecord(t, 2)
	r.Git["repository"] = "http://" + address + "/ledger.git"
	if c := check(t, r.audit(t, audit.Options{}), "git"); c.Status != audit.NotChecked {
		t.Errorf("%s: %s", c.Status, c.Detail)
	}
	for _, elsewhere := range []string{"http://" + address, "http://localhost:" + port, "http://[::1]:" + port} {
		redirecting := httptest.NewServer(http.RedirectHandler(elsewhere+"/api/v1/verify/picks", http.StatusFound))
		t.Cleanup(redirecting.Close)
		_, err := audit.Run(t.Context(), audit.Options{URL: redirecting.URL, Now: now})
		if err == nil || !strings.Contains(err.Error(), "name that address") {
			t.Errorf("a redirect to %s: %v", elsewhere, err)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("a service that the operator did not name was asked %d times", n)
	}
}

// The server names a folder that the attacker made. Its name and its configuration start no program.
func TestALedgerFolderOfAServerRunsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, mark := filepath.Join(dir, "trap"), filepath.Join(dir, "it-ran")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch '"+mark+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := newRecord(t, 2)
	bare := r.commit(t)
	evil := filepath.Join(dir, "git@host:ledger")
	git(t, ".", "clone", "--quiet", bare, evil)
	for name, value := range map[string]string{
		"gpg.program": program, "gpg.ssh.program": program, "core.fsmonitor": program, "core.sshCommand": program,
		"uploadpack.packObjectsHook": program, "remote.origin.uploadpack": program, "extensions.partialClone": "origin",
		"core.repositoryFormatVersion": "1", "remote.origin.promisor": "true",
	} {
		git(t, evil, "config", name, value)
	}
	r.Git["repository"] = evil
	for _, o := range []audit.Options{{}, {Ledger: evil}, {Ledger: "file://" + evil}} {
		if c := check(t, r.audit(t, o), "git"); c.Status != audit.OK {
			t.Errorf("%s: %s", c.Status, c.Detail)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the folder's choice was run")
	}
	// A server elsewhere cannot name a folder of this machine in any way.
	report, err := audit.Run(t.Context(), audit.Options{
		URL: "https://record.example", Now: now, Environ: os.Environ(), Transport: public{strings.TrimPrefix(serve(t, r.handler(t)), "http://")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := check(t, report, "git"); c.Status != audit.NotChecked || !strings.Contains(c.Detail, "a folder of its own machine") {
		t.Errorf("a folder that a server elsewhere names: %s: %s", c.Status, c.Detail)
	}
}

func TestAnAnswerHasNoEndOfMembers(t *testing.T) {
	t.Parallel()
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write([]byte(`{"valid":true`))
		for i := 0; err == nil; i++ {
			_, err = fmt.Fprintf(w, `,"m%d":0`, i)
		}
	}))
	if _, err := audit.Run(t.Context(), audit.Options{URL: server, Now: now}); err == nil || !strings.Contains(err.Error(), "more than 64 members") {
		t.Errorf("the error is %.300v", err)
	}
}

// A node answers without an end, or sends its questions elsewhere.
func TestANodeIsHostile(t *testing.T) {
	t.Parallel()
	address, connections := bystander(t)
	for name, handler := range map[string]http.HandlerFunc{
		"an answer without an end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":"`))
			for err == nil {
				_, err = w.Write([]byte(strings.Repeat("a", 1<<20)))
			}
		},
		"an error without an end": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			var err error
			for err == nil {
				_, err = w.Write([]byte(strings.Repeat("a", 1<<20)))
			}
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+address, http.StatusTemporaryRedirect)
		},
	} {
		r := newRecord(t, 2)
		r.attest(t, startChain(t), 0, 1)
		c := check(t, r.audit(t, audit.Options{RPC: []string{serve(t, handler)}}), "attestations")
		if c.Status == audit.OK || len(c.Detail) > 4096 {
			t.Errorf("%s: %s: %.300s", name, c.Status, c.Detail)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("the node sent %d questions elsewhere", n)
	}
}
