package pages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark"
)

func TestTheChangelogIsRead(t *testing.T) {
	t.Parallel()
	got, err := readChangelog("# Changelog\n\n- not a change\n\n## 2026-12-02\n\n### Fixed\n\n- One thing.\n- A longer\n  one.\n\n" +
		"### Deprecated\r\n- Gone by summer.\r\n\n## 2026-11-21\n### Added\n- The first.")
	want := []change{
		{"2026-12-02", "fixed", "One thing."},
		{"2026-12-02", "fixed", "A longer one."},
		{"2026-12-02", "deprecated", "Gone by summer."},
		{"2026-11-21", "added", "The first."},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("error %v, changes (-want +got):\n%s", err, d)
	}
	for _, c := range []struct{ text, says string }{
		{"## soon\n", "line 1 of the changelog: expected a day"},
		{"## 2026-11-20\n\n## 2026-11-21\n", "line 3 of the changelog: a day that is not before"},
		{"## 2026-11-20\n### Broken\n", "expected one of added, changed"},
		{"## 2026-11-20\n- A change.\n", "below its day and kind"},
		{"## 2026-11-20\n### Added\n  A line.\n", "below its day and kind"},
	} {
		if _, err := readChangelog(c.text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want an error that says %q", c.text, err, c.says)
		}
	}
	if list, err := readChangelog(tidemark.Changelog); err != nil || len(list) < 9 {
		t.Errorf("the product's own: %d changes, %v", len(list), err)
	}
}
