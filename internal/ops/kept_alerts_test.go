package ops_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/ops"
	"tidemark/internal/postgres"
)

// told is a channel that records its messages.
type told struct {
	list []string
	fail bool
}

func (c *told) Send(_ context.Context, m postgres.AlertMessage) error {
	if c.fail {
		return errors.New("away")
	}
	state := "raised"
	if m.Resolved {
		state = "resolved"
	}
	c.list = append(c.list, state+" "+m.Kind+"/"+m.Subject)
	return nil
}

func TestKeptAlertsAreToldOnceAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "alerts.json")
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	channel := &told{}
	open := func() *ops.KeptAlerts {
		return &ops.KeptAlerts{
			Path: path, Write: func(path string, data []byte) error { return os.WriteFile(path, data, 0o600) },
			Channels: map[string]ops.Channel{"webhook": channel}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
		}
	}
	k := open()
	save := func(list ...postgres.Alert) {
		t.Helper()
		if err := k.Save(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		now = now.Add(30 * time.Second)
	}
	wants := func(want ...string) {
		t.Helper()
		if got, want := strings.Join(channel.list, ", "), strings.Join(want, ", "); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	a, b := postgres.Alert{Kind: "log-split-view", Subject: "x", Severity: postgres.AlertError}, postgres.Alert{Kind: "log-away", Severity: postgres.AlertWarning}
	save(a)
	save(a)
	k = open()
	save(a, b)
	wants("raised log-split-view/x", "raised log-away/")
	save(a)
	save(a, b) // it was absent for a round: the same alert
	wants("raised log-split-view/x", "raised log-away/")
	channel.fail = true
	for range 4 {
		save(a)
	}
	channel.fail = false
	k = open() // the message about the end waits in the file
	save(a)
	save(a)
	wants("raised log-split-view/x", "raised log-away/", "resolved log-away/")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	k = open()
	save(a)
	wants("raised log-split-view/x", "raised log-away/", "resolved log-away/", "raised log-split-view/x")
}
