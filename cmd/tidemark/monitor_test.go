package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/telemetry"
)

// ServeHTTP serves the files of the log, in the layout of C2SP.
func (l *proofLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	if path == "checkpoint" {
		_, _ = w.Write(l.proof(0, time.Hour, time.Hour).Note)
		return
	}
	tile, err := tlog.ParseTilePath(path)
	if err != nil || !tile.In(l.size) {
		http.NotFound(w, r)
		return
	}
	if tile.Entries {
		var body []byte
		for _, leaf := range l.leaves[tile.N*tlog.TileWidth : tile.N*tlog.TileWidth+int64(tile.Width)] {
			body = tlog.AppendEntry(body, leaf)
		}
		_, _ = w.Write(body)
		return
	}
	width := tile.Width
	tile.Width = 0
	_, _ = w.Write(l.tiles[tile][:width*len(tlog.Hash{})])
}

func TestTheMonitorTellsOnceWhatIsWrong(t *testing.T) {
	t.Parallel()
	log := newProofLog(t, "log.example/log", 700)
	var lies atomic.Bool
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		log.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		if lies.Load() && r.URL.Path == "/tile/0/001" {
			body[7] ^= 1
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(served.Close)
	posted := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct{ Kind, Subject, State string }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		posted <- m.State + " " + m.Kind
	}))
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	policy := filepath.Join(dir, "monitor.policy")
	if err := os.WriteFile(policy, []byte(strings.Replace(log.policy(), log.key.Public, log.key.Public+" "+served.URL, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{
			"monitor", "--state-dir", dir, "--monitor-policy", policy, "--monitor-every=1s", "--alert-webhook-url", hook.URL, "--log-level=error",
		}, io.Discard, t.Output())
	}()
	told := func() string {
		t.Helper()
		select {
		case s := <-posted:
			return s
		case <-time.After(2 * time.Minute):
			t.Fatal("nothing is told")
			return ""
		}
	}
	if got := told(); got != "raised log-state" {
		t.Errorf("first it tells %q", got)
	}
	lies.Store(true)
	if got := told(); got != "raised log-tampered" {
		t.Errorf("then it tells %q", got)
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("it ends with %d", code)
	}
	select {
	case s := <-posted:
		t.Errorf("it also tells %q", s)
	default:
	}
}

func TestALogThatHangsDelaysNoAlertAboutAnother(t *testing.T) {
	t.Parallel()
	log, mute := newProofLog(t, "log.example/log", 10), newProofLog(t, "mute.example/log", 10)
	served := httptest.NewServer(log)
	t.Cleanup(served.Close)
	ctx, stop := context.WithCancel(t.Context())
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ctx.Done():
		}
	}))
	t.Cleanup(hangs.Close)
	posted := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct{ Kind, Subject, State string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		posted <- m.State + " " + m.Kind + " " + m.Subject
	}))
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	policy := filepath.Join(dir, "monitor.policy")
	text := "log " + mute.key.Public + " " + hangs.URL + "\n" + strings.Replace(log.policy(), log.key.Public, log.key.Public+" "+served.URL, 1)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{
			"monitor", "--state-dir", dir, "--monitor-policy", policy, "--monitor-every=1s", "--alert-webhook-url", hook.URL, "--log-level=error",
		}, io.Discard, t.Output())
	}()
	select {
	case got := <-posted:
		if got != "raised log-state log.example/log" {
			t.Errorf("first it tells %q", got)
		}
	case <-time.After(2 * time.Minute):
		t.Error("nothing is told about the log that answers")
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

func TestTheMonitorIsReadyAlsoWithNothingToFollow(t *testing.T) {
	t.Parallel()
	awaitReady(t, "monitor", "monitor", "--state-dir="+t.TempDir())
}

func TestTheMonitorRefusesAPolicyThatNamesNoAddress(t *testing.T) {
	t.Parallel()
	log := newProofLog(t, "log.example/log", 1)
	dir := t.TempDir()
	policy := filepath.Join(dir, "monitor.policy")
	if err := os.WriteFile(policy, []byte(log.policy()), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"has no URL":     {"--monitor-policy=" + policy},
		"MONITOR_POLICY": {"--monitor-policy=" + filepath.Join(dir, "none")},
		"MONITOR_EVERY":  {"--monitor-policy=" + policy, "--monitor-every=1ms"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), append([]string{"monitor", "--state-dir=" + dir}, args...), &out, &out); code != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%v: exit %d, want %q: %s", args, code, want, fmt.Sprint(out.String()))
		}
	}
}

// lines is a log that calls a function for each line.
type lines func(line string)

func (l lines) Write(line []byte) (int, error) {
	l(string(line))
	return len(line), nil
}

// A log of somebody else may find a fault of this program. That ends one round, and not the role.
func TestTheMonitorOutlivesAPanic(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	rounds := 0
	log := telemetry.Logger(lines(func(line string) {
		if rounds += strings.Count(line, `"place":"monitor"`); rounds == 2 {
			stop()
		}
	}), telemetry.FormatJSON, "info")
	p := &program{now: time.Now, log: log}
	p.settings.MonitorEvery = time.Millisecond
	(&watcher{program: p}).follow(ctx, nil) // a round of no monitor panics
	if rounds < 2 {
		t.Errorf("%d rounds panicked", rounds)
	}
}
