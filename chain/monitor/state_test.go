package monitor

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

func TestTheMemorySurvivesARestart(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	dir := t.TempDir()
	found(t, l.monitor(dir, "two"))
	honest := l.tree
	base := &testTree{root: tlog.EmptyRoot(), tiles: map[tlog.Tile][]byte{}}
	l.tree = base.grow(t, append(slices.Clone(honest.leaves[:600]), gaps(t, "fork", 300)...)...)
	l.publish()
	l.copies = nil
	m := l.monitor(dir, "two")
	kinds, all := found(t, m)
	if !slices.Equal(kinds, []string{KindInconsistent}) {
		t.Fatalf("a fork while it was down: %+v", all)
	}
	// The log returns to the old history: its signed statements stay proven, also after another restart, until the operator has looked.
	l.tree = honest
	l.publish()
	m = l.monitor(dir, "two")
	if kinds, _ := found(t, m); !slices.Equal(kinds, []string{KindInconsistent}) {
		t.Errorf("after the fork is hidden again: %v", kinds)
	}
	files, err := filepath.Glob(filepath.Join(dir, evidenceDir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files of evidence, %v", len(files), err)
	}
	kept, err := os.ReadFile(files[0])
	if err != nil || !bytes.Contains(kept, l.sign(honest)) || bytes.Count(kept, []byte("\n— "+l.signer.Origin())) != 2 {
		t.Errorf("the evidence does not hold both checkpoints: %s", kept)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Errorf("after a person has looked: %+v", all)
	}
}

func TestAMonitorThatLostItsStateSaysSo(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	dir := t.TempDir()
	young := func(m *Monitor) (list []Finding) {
		all, err := m.Round(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(all, func(f Finding) bool { return f.Kind != KindState })
	}
	if list := young(l.monitor(dir, "two")); len(list) != 1 || !list[0].Warning || !strings.Contains(list[0].Text, "first start") {
		t.Errorf("the first start: %+v", list)
	}
	l.pass(youngFor + time.Hour)
	l.publish()
	if list := young(l.monitor(dir, "two")); len(list) != 0 {
		t.Errorf("a day later, after a restart: %+v", list)
	}
	path := filepath.Join(dir, name(l.signer.Origin())+stateSuffix)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if list := young(l.monitor(dir, "two")); len(list) != 1 || list[0].Warning || !strings.Contains(list[0].Text, "lost or damaged") {
		t.Errorf("half of the state: %+v", list)
	}
	if _, err := os.Stat(path + damaged); err != nil {
		t.Errorf("the damaged state is not put aside: %v", err)
	}
	// It says so for a day, also after restarts.
	if list := young(l.monitor(dir, "two")); len(list) != 1 || list[0].Warning {
		t.Errorf("after a restart: %+v", list)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if list := young(l.monitor(dir, "two")); len(list) != 1 {
		t.Errorf("the state was removed: %+v", list)
	}
}

func TestAnOldTreeIsReadInParts(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	m := l.monitor(t.TempDir(), "two")
	m.o.Reread = 1
	found(t, m)
	l.lie = func(path string, body []byte) (int, []byte) {
		if path != "/log/tile/entries/002.p/189" {
			return 0, nil
		}
		body[9] ^= 1
		return 0, body
	}
	noticed := 0
	for range 3 {
		if kinds, _ := found(t, m); slices.Contains(kinds, KindTampered) {
			noticed++
		}
	}
	if noticed == 0 {
		t.Error("three rounds of one file each do not find the third file")
	}
}
