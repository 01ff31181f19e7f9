package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/config"
)

// A witness that lost its state does not begin again, and the sandbox goes on with the three others: the policy, its keys and the quorum stay.
func TestASandboxGoesOnWithoutAWitnessThatLostItsState(t *testing.T) {
	t.Parallel()
	files := func(dir, label string) []string {
		found, err := filepath.Glob(filepath.Join(dir, "sandbox", "log", label, "*.log"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s has the files %v (%v)", label, found, err)
		}
		return found
	}
	for name, lose := range map[string]func(dir string) error{
		"the file of a log": func(dir string) error { return os.Remove(files(dir, "dora")[0]) },
		"what it cosigned":  func(dir string) error { return os.Truncate(files(dir, "dora")[0], 20) },
		"its key":           func(dir string) error { return os.Remove(filepath.Join(dir, "sandbox", "log", "dora", "witness.key")) },
		"its folder":        func(dir string) error { return os.RemoveAll(filepath.Join(dir, "sandbox", "log", "dora")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			start := func() (policy *tlog.Policy, said string) {
				t.Helper()
				var out bytes.Buffer
				var settings config.Settings
				settings.World = "sandbox"
				settings.StateDir = dir
				p := &program{settings: settings, log: slog.New(slog.NewTextHandler(&out, nil)), now: time.Now}
				serve, err := p.startWitnesses(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := serve(ctx); err != nil { // leaves the folders of the witnesses
					t.Fatal(err)
				}
				text, err := os.ReadFile(p.settings.LogWitnesses)
				if err != nil {
					t.Fatal(err)
				}
				if policy, err = tlog.ParsePolicy(text); err != nil {
					t.Fatal(err)
				}
				return policy, out.String()
			}
			before, said := start()
			if said != "" {
				t.Errorf("a new sandbox says %s", said)
			}
			if err := lose(dir); err != nil {
				t.Fatal(err)
			}
			for range 2 { // it stays away
				after, said := start()
				if !strings.Contains(said, "has lost its state") || !strings.Contains(said, "witness=dora") {
					t.Errorf("it says %q", said)
				}
				if len(after.Witnesses) != 4 || !after.Enough([]string{"anna", "bert", "carl"}) || after.Enough([]string{"anna", "bert"}) {
					t.Errorf("the policy is %s", after.Text)
				}
				for i, w := range after.Witnesses {
					if w.VKey() != before.Witnesses[i].VKey() || (w.URL == "") != (w.Label == "dora") {
						t.Errorf("the policy has %s of %s at %q", w.VKey(), w.Label, w.URL)
					}
				}
			}
		})
	}
}
