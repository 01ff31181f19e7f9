package pages

import (
	"bytes"
	"compress/gzip"
	"slices"
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

// However long the changelog becomes, each of its pages stays small, and together they have every change once and in order.
func TestThePagesOfTheChangelogStaySmall(t *testing.T) {
	t.Parallel()
	own, err := readChangelog(tidemark.Changelog)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]change{own, slices.Repeat(own, 20), own[:1], nil} {
		var all []change
		for i, page := range changePages(list) {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			if _, err := w.Write([]byte(markdown(changesText(page)))); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if packed.Len() > 20<<10 {
				t.Errorf("page %d has %d bytes, compressed", i+1, packed.Len())
			}
			all = append(all, page...)
		}
		if d := cmp.Diff(list, all); d != "" {
			t.Errorf("the pages do not have the changes, -want +got:\n%s", d)
		}
	}
	text := changesText([]change{{"2026-12-02", "fixed", "One."}, {"2026-12-02", "fixed", "Two."}, {"2026-11-21", "fixed", "Three."}})
	if want := "\n## 2026-12-02\n\n### Fixed\n\n- One.\n- Two.\n\n## 2026-11-21\n\n### Fixed\n\n- Three.\n"; text != want {
		t.Errorf("the text is %q, want %q", text, want)
	}
}
