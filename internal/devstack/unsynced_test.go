package devstack

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAnUnsyncedPostgresLosesNothingWhenItIsKilledAndSyncsAtTheEnd(t *testing.T) {
	t.Parallel()
	if bootID() == "" {
		t.Skip("this system does not name its starts")
	}
	state := openDir(t)
	s := startStack(t, Options{StateDir: state, Unsynced: true})
	fsync := func() string { return query(t, s.DatabaseURL, `select current_setting('fsync')`) }
	if got := fsync(); got != "off" {
		t.Errorf("fsync is %s in a new folder, want off", got)
	}
	execute(t, s.DatabaseURL, `create table tide (height text); insert into tide values ('high')`)
	if err := s.Postgres.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Postgres.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, s.DatabaseURL, `select height from tide`); got != "high" {
		t.Errorf("the killed server kept %q, want high", got)
	}
	// A stop in between leaves all data on the disk, and so the machine may start again.
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Postgres.home.keep.Unsynced; got != "" {
		t.Errorf("after a stop, server.json names the start %q of the machine", got)
	}
	s = startStack(t, Options{StateDir: state, Unsynced: true})
	if got := fsync(); got != "off" || s.Postgres.home.keep.Unsynced != bootID() {
		t.Errorf("after a start, fsync is %s, and server.json names the start %q of the machine, want %q", got, s.Postgres.home.keep.Unsynced, bootID())
	}
	for range 2 { // it may be repeated
		if err := s.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := fsync(); got != "on" || s.Postgres.home.keep.Unsynced != "" {
		t.Errorf("after Sync, fsync is %s, and server.json names the start %q of the machine", got, s.Postgres.home.keep.Unsynced)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = startStack(t, Options{StateDir: state, Unsynced: true})
	if got := fsync(); got != "on" {
		t.Errorf("fsync is %s in a folder with synced data, want on", got)
	}
}

func TestUnsyncedDataOfAnEarlierStartOfTheMachineAreRefused(t *testing.T) {
	t.Parallel()
	if bootID() == "" {
		t.Skip("this system does not name its starts")
	}
	state := openDir(t)
	s := startStack(t, Options{StateDir: state, Unsynced: true})
	if err := s.Postgres.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Postgres.home.mark("another start"); err != nil {
		t.Fatal(err)
	}
	s.Postgres.home.unlock()
	_, err := Start(t.Context(), Options{StateDir: state, Unsynced: true})
	if err == nil {
		t.Fatal("Start accepted data that may be damaged")
	}
	oneLine(t, err)
}

// A machine that was shut down long after the server had stopped lost nothing: the system had written everything by then.
func TestDataThatTheSystemHasWrittenAreAccepted(t *testing.T) {
	t.Parallel()
	boot := time.Now()
	for _, test := range []struct {
		fact    string
		stopped time.Time
		locked  bool
		good    bool
	}{
		{"stopped an hour before", boot.Add(-time.Hour), false, true},
		{"stopped a few seconds before", boot.Add(-10 * time.Second), false, false},
		{"never stopped", boot.Add(-time.Hour), true, false},
	} {
		h := &stateDir{dir: t.TempDir()}
		h.keep.Unsynced = "another start"
		control := filepath.Join(h.data(), "global", "pg_control")
		if err := os.MkdirAll(filepath.Dir(control), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(control, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(control, test.stopped, test.stopped); err != nil {
			t.Fatal(err)
		}
		if test.locked {
			if err := os.WriteFile(filepath.Join(h.data(), "postmaster.pid"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.checkSynced(boot); (err == nil) != test.good {
			t.Errorf("%s: %v", test.fact, err)
		}
	}
}
