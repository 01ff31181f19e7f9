package archive

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"
)

// exportOf writes to a folder what an installation with some answers would export: the answers, each stored by a step of its own.
func exportOf(t *testing.T, dir string, bodies ...string) error {
	t.Helper()
	w, err := NewWriter(dir)
	if err != nil {
		return err
	}
	defer func() { _ = w.Abort() }()
	at := func(i int) time.Time { return time.Date(2026, 5, 1, i, 0, 0, 0, time.UTC) }
	steps := func(yield func(series.Step, error) bool) {
		for i := range bodies {
			if !yield(series.Step{Source: "s", Answers: []series.StepAnswer{{Fetch: int64(i + 1), KnownAt: at(i)}}}, nil) {
				return
			}
		}
	}
	if err := w.Steps(steps, Origin{World: "sandbox"}); err != nil {
		return err
	}
	for i, body := range bodies {
		f := series.Fetch{ID: int64(i + 1), Source: "s", URL: "https://example.org/" + body, Status: 200, FetchedAt: at(i)}
		if err := w.Add(t.Context(), f, []byte(body)); err != nil {
			return err
		}
	}
	return w.Close()
}

func TestAnExportLeavesTheFolderOfAnotherInstallationAsItIs(t *testing.T) {
	t.Parallel()
	for name, theirs := range map[string][]string{"an empty database": nil, "other answers": {"x"}, "a part of the answers": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "export")
			if err := exportOf(t, dir, "a", "b", "c"); err != nil {
				t.Fatal(err)
			}
			read := func() string {
				var all strings.Builder
				for _, name := range []string{ManifestName, HistoryName} {
					b, err := os.ReadFile(filepath.Join(dir, name))
					if err != nil {
						t.Fatal(err)
					}
					all.Write(b)
				}
				return all.String()
			}
			before := read()
			if err := exportOf(t, dir, theirs...); !errors.As(err, new(*ForeignError)) || !strings.Contains(err.Error(), dir) {
				t.Errorf("the export ended with %v", err)
			}
			if read() != before {
				t.Error("the folder was changed")
			}
		})
	}
}

func TestAnExportToItsOwnFolderGoesOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "export")
	for _, bodies := range [][]string{{}, {"a", "b"}, {"a", "b"}, {"a", "b", "c"}} {
		if err := exportOf(t, dir, bodies...); err != nil {
			t.Fatalf("%v: %v", bodies, err)
		}
		f, err := OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.verifyHistory(); err != nil {
			t.Errorf("%v: %v", bodies, err)
		}
		_ = f.Close()
	}
}

// The exchanges of which a history does not speak would all count as left out.
func TestAHistoryThatSpeaksOfFewerExchangesThanTheManifestIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "export")
	if err := exportOf(t, dir, "a"); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	more := series.Fetch{Source: "s", URL: "https://example.org/more", Status: 200, FetchedAt: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}
	if err := errors.Join(w.Add(t.Context(), more, []byte("more")), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := f.verifyHistory(); err == nil || !strings.Contains(err.Error(), "2 exchanges") || !strings.Contains(err.Error(), "1 of them") {
		t.Errorf("verified with %v", err)
	}
}
