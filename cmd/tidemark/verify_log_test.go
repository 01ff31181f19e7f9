package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

// serveLog serves chainOf, and a log of which it shows the first leaves.
func (l *proofLog) serveLog(shown *int) string {
	l.t.Helper()
	body := chainOf(l.t, "243.85")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tree, bundle := tlog.Edge{}, []byte{}
		for _, leaf := range l.leaves[:*shown] {
			tree.Add(tlog.LeafHash(leaf))
			bundle = tlog.AppendEntry(bundle, leaf)
		}
		switch r.URL.Path {
		case "/api/v1/info":
			_, _ = fmt.Fprintf(w, `{"data":{"log":{"vkey":%q,"witnesses":[]}}}`, l.key.Public)
		case "/log/checkpoint":
			note, err := l.signer.Sign(tree.Size, tree.Root())
			if err != nil {
				l.t.Error(err)
			}
			_, _ = w.Write(note)
		case "/log/" + tlog.Tile{Width: *shown, Entries: true}.Path():
			_, _ = w.Write(bundle)
		case "/api/v1/verify/picks":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		default:
			http.NotFound(w, r)
		}
	}))
	l.t.Cleanup(s.Close)
	return s.URL
}

func TestVerifyRemembersTheLogAndSetsBothCheckpointsSideBySide(t *testing.T) {
	t.Parallel()
	log, shown := newProofLog(t, "log.example/log", 5), 5
	url, file := log.serveLog(&shown), filepath.Join(t.TempDir(), "verified.json")
	verify := func(args ...string) (int, string) {
		var out bytes.Buffer
		status := run(t.Context(), append([]string{"verify", "--url", url}, args...), &out, &out)
		return status, out.String()
	}
	if status, out := verify("--remember", file); status != 0 || !strings.Contains(out, "you see the log log.example/log for the first time") {
		t.Fatalf("%d: %s", status, out)
	}
	shown = 3
	status, out := verify("--remember", file)
	for _, want := range []string{"MISMATCH     log_memory", "the log had 5 leaves when you saw it last, and shows 3", "as you saw it", "leaves   5", "Both are signed", "Contradicted: "} {
		if status != 1 || !strings.Contains(out, want) {
			t.Errorf("status %d, want %q in\n%s", status, want, out)
		}
	}
	if got := strings.Count(out, "\nlog.example/log\n"); got != 2 {
		t.Errorf("%d signed checkpoints in\n%s", got, out)
	}
	if status, out := verify("--no-remember"); status != 0 || strings.Contains(out, "as you saw it") {
		t.Errorf("without a memory: %d, %s", status, out)
	}
	var r struct {
		Verdict string
		Log     struct{ Kept, Served struct{ Size int64 } }
	}
	if status, out = verify("--remember", file, "--json"); status != 1 || json.Unmarshal([]byte(firstJSON(out)), &r) != nil || r.Verdict != "contradicted" || r.Log.Kept.Size != 5 || r.Log.Served.Size != 3 {
		t.Errorf("%d, %+v: %s", status, r, out)
	}
	own := filepath.Join(t.TempDir(), "checkpoint")
	if err := os.WriteFile(own, log.proof(0).Note, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out := verify("--no-remember", "--checkpoint", own); status != 1 || !strings.Contains(out, "the log had 5 leaves") {
		t.Errorf("by a file: %d, %s", status, out)
	}
	if status, out := verify("--no-remember", "--checkpoint", file); status != 2 || !strings.Contains(out, "is not a signed checkpoint") {
		t.Errorf("by a file that is none: %d, %s", status, out)
	}
}

// firstJSON is the JSON object that a text begins with.
func firstJSON(text string) string {
	var raw json.RawMessage
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&raw); err != nil {
		return err.Error()
	}
	return string(raw)
}

func TestVerifyPrintsJSONInEveryForm(t *testing.T) {
	t.Parallel()
	log := newProofLog(t, "log.example/log", 3)
	dir := t.TempDir()
	file, policy, broken := filepath.Join(dir, "x.tlog-proof"), filepath.Join(dir, "my.policy"), filepath.Join(dir, "broken")
	for path, text := range map[string][]byte{file: log.proof(1, time.Hour, 30*time.Hour).Format(), policy: []byte(log.policy()), broken: []byte("hello")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root := base64.StdEncoding.EncodeToString(log.root[:])
	for name, tt := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"a proof":                        {[]string{"--proof", file, "--policy", policy}, 0, `"verdict": "self_consistent"`},
		"a proof that must be witnessed": {[]string{"--proof", file, "--policy", policy, "--require", "witnessed"}, 3, `"root": "` + root + `"`},
		"bytes that are no proof":        {[]string{"--proof", broken, "--policy", policy}, 2, `"error": "not checked: `},
		"a proof without a policy":       {[]string{"--proof", file}, 2, `"verdict": "not_checked"`},
		"a server that is not there":     {[]string{"--no-remember", "--url", "http://127.0.0.1:1"}, 2, `"verdict": "not_checked"`},
		"a wrong checkpoint":             {[]string{"--no-remember", "--url", "http://127.0.0.1:1", "--checkpoint", "1:xy"}, 2, `is not LENGTH:HASH`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, stderr bytes.Buffer
			status := run(t.Context(), append([]string{"verify", "--json"}, tt.args...), &out, &stderr)
			if status != tt.status || !json.Valid(out.Bytes()) || !strings.Contains(out.String(), tt.want) {
				t.Errorf("exit status %d, want %d and %s:\n%s\n%s", status, tt.status, tt.want, out.String(), stderr.String())
			}
		})
	}
	var out bytes.Buffer
	var got provedLeaf
	if status := run(t.Context(), []string{"verify", "--json", "--proof", file, "--policy", policy}, &out, &out); status != 0 || json.Unmarshal(out.Bytes(), &got) != nil {
		t.Fatalf("exit status %d: %s", status, out.String())
	}
	if got.Index != 1 || got.Size != 3 || got.Leaf != string(log.leaves[1]) || !got.Quorum || len(got.Cosigned) != 2 || !got.Cosigned[0].Fresh || got.Cosigned[1].Fresh {
		t.Errorf("%+v", got)
	}
}
