package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
	"tidemark/test/tsa"
)

func TestVerifyProofSaysSinceWhenACheckpointExisted(t *testing.T) {
	t.Parallel()
	a, stranger := tsa.New(t, "P-256", "sha256"), tsa.New(t, "P-256", "sha256")
	log := newProofLog(t, "log.example/log", 700)
	proof := log.proof(300, time.Hour, time.Hour)
	checkpoint := tlog.SignedBody(proof.Note)
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base := []string{"verify", "--proof", file("x.tlog-proof", proof.Format()), "--policy", file("my.policy", []byte(log.policy()))}
	good := a.Stamp(checkpoint, "-cert")
	for _, tt := range []struct {
		name   string
		stamp  []byte
		args   []string
		status int
		says   []string
	}{
		{"good", good, []string{"--timestamp-ca", a.Root}, 0, []string{"Witnessed: ", "stamped: the checkpoint existed at 20", "by the word of CN=Time of the test,O=Example"}},
		{"good, as JSON", good, []string{"--timestamp-ca", a.Root, "--json"}, 0, []string{`"timestamp": {`, `"authority": "CN=Time of the test,O=Example"`}},
		{"of another checkpoint", a.Stamp("another\n", "-cert"), []string{"--timestamp-ca", a.Root}, 2, []string{"MISMATCH", "does not belong to the checkpoint"}},
		{"by nobody who is believed", stranger.Stamp(checkpoint, "-cert"), []string{"--timestamp-ca", a.Root}, 2, []string{"not checked", "unknown authority"}},
		{"by no root of the system", good, nil, 2, []string{"not checked", "certificate"}},
		{"cut", good[:100], []string{"--timestamp-ca", a.Root}, 2, []string{"not checked", "not whole"}},
		{"too long", make([]byte, 10<<20), []string{"--timestamp-ca", a.Root}, 2, []string{"not checked", "more than 65536 bytes"}},
		{"no root in the file", good, []string{"--timestamp-ca", file("empty", nil)}, 2, []string{"--timestamp-ca", "no certificate"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			args := append(append(slices.Clip(base), "--timestamp", file("x.tsr", tt.stamp)), tt.args...)
			if status := run(t.Context(), args, &out, &out); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			for _, want := range tt.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, out.String())
				}
			}
		})
	}
	var out bytes.Buffer
	if status := run(t.Context(), []string{"verify", "--timestamp", "x.tsr", "--url", "http://127.0.0.1:1"}, &out, &out); status != 2 || !strings.Contains(out.String(), "goes with --proof") {
		t.Errorf("a stamp without a proof: %d %s", status, out.String())
	}
}
