package api_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain/timestamp"
	"tidemark/chain/tlog"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/test/tsa"
	"tidemark/workers"
)

func TestTheProofOfASealHasATimeStampBesideItBeforeTheReveal(t *testing.T) {
	t.Parallel()
	a := tsa.New(t, "P-256", "sha256")
	l := serveRecord(t, pgtest.New(t), "2026-02-12")
	sequence := l.keepLog()
	roots, err := timestamp.ReadRoots(a.Root)
	if err != nil {
		t.Fatal(err)
	}
	newStamper := func(url string) *workers.Stamper {
		return &workers.Stamper{
			DB: l.worker, Log: slog.New(slog.DiscardHandler),
			Authority: timestamp.Client{URL: url, Roots: roots, Now: time.Now, Transport: http.DefaultTransport},
		}
	}
	seal := func() map[string]any {
		open, _, _ := l.seals()
		if len(open) != 1 {
			return nil
		}
		return open[0].(map[string]any)
	}
	l.pick("AAPL", "243.85", "2026-02-13", false)
	sequence()
	l.eventually("the open seal", func() bool { return seal() != nil })
	url := strings.TrimPrefix(seal()["proof_url"].(string), l.url)
	stampURL := strings.TrimSuffix(url, "tlog-proof") + "tsr"
	if seal()["timestamp_url"] != nil || l.ask(http.MethodGet, stampURL).StatusCode != http.StatusNotFound {
		t.Error("a stamp is shown before there is one")
	}
	// An unavailable authority blocks nothing, and is asked again.
	if err := newStamper("http://127.0.0.1:1").Round(t.Context()); err == nil {
		t.Error("nobody listens there")
	}
	sequence()
	// The same round in two workers at once is one stamp.
	server := a.Serve()
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- newStamper(server).Round(t.Context()) }()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	l.eventually("the stamp", func() bool { return seal()["timestamp_url"] != nil })
	if got := seal()["timestamp_url"]; got != l.url+stampURL {
		t.Errorf("the stamp is at %v, want %s", got, stampURL)
	}
	answer := l.ask(http.MethodGet, stampURL)
	proof, err := tlog.ParseProof(l.ask(http.MethodGet, url).body)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	reply, text := filepath.Join(dir, "1.tsr"), filepath.Join(dir, "checkpoint")
	for file, b := range map[string][]byte{reply: answer.body, text: []byte(tlog.SignedBody(proof.Note))} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if answer.Header.Get("Content-Type") != "application/timestamp-reply" {
		t.Errorf("served as %q", answer.Header.Get("Content-Type"))
	}
	if out := tsa.OpenSSL(t, "ts", "-verify", "-in", reply, "-data", text, "-CAfile", a.Root); !strings.Contains(string(out), "Verification: OK") {
		t.Errorf("openssl says %s", out)
	}
	checkpoint, err := tlog.ParseBody(tlog.SignedBody(proof.Note))
	if err != nil {
		t.Fatal(err)
	}
	// The first stamp of a checkpoint stays, and is not asked for again.
	if added, err := l.worker.AddLogTimestamp(t.Context(), postgres.LogTimestamp{Size: checkpoint.Size, Reply: []byte("x"), At: time.Now(), Authority: "x"}); added || err != nil {
		t.Errorf("another stamp of the size: %v, %v", added, err)
	}
	if err := newStamper("http://127.0.0.1:1").Round(t.Context()); err != nil {
		t.Errorf("it asks again: %v", err)
	}
	// Once witnesses have cosigned a larger size, the proof is against that one, which is stamped in its turn.
	l.gap("2026-02-12")
	sequence()
	newest, err := l.worker.NewestLogCheckpoint(t.Context(), postgres.LogRecord, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.worker.AddLogCosignatures(t.Context(), postgres.LogRecord, newest.Size, nil, true); err != nil {
		t.Fatal(err)
	}
	if got := l.ask(http.MethodGet, stampURL); got.StatusCode != http.StatusNotFound {
		t.Errorf("the stamp of another checkpoint than the proof's is served: %d", got.StatusCode)
	}
	if err := newStamper(server).Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := l.ask(http.MethodGet, stampURL)
	if _, err := timestamp.Check(again.body, []byte(tlog.SignedBody(newest.Note)), roots); err != nil || bytes.Equal(again.body, answer.body) {
		t.Errorf("the stamp of the witnessed size: %v", err)
	}
	if !strings.Contains(again.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("it never changes, and is served with %q", again.Header.Get("Cache-Control"))
	}
}
