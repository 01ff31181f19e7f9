package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark/internal/series"
)

func TestAHistoryThatIsNotWholeIsRefused(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 5, 1, hour, 0, 0, 0, time.UTC) }
	folder := func(t *testing.T) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "archive")
		w, err := NewWriter(dir)
		if err != nil {
			t.Fatal(err)
		}
		steps := []series.Step{
			{Source: "s", Answers: []series.StepAnswer{{Fetch: 7, KnownAt: at(1)}}}, {Signal: "x", At: at(2)}, {Signal: "x", At: at(3)},
		}
		yield := func(yield func(series.Step, error) bool) {
			for _, s := range steps {
				if !yield(s, nil) {
					return
				}
			}
		}
		body := []byte("a body")
		fetch := series.Fetch{ID: 7, Source: "s", URL: "https://example.org/a", Status: 200, FetchedAt: at(1), SHA256: digestOf(body), Bytes: int64(len(body))}
		for _, err := range []error{w.Steps(yield, Origin{World: "sandbox"}), w.Add(t.Context(), fetch, body), w.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	lines := func(b []byte) [][]byte { return bytes.SplitAfter(b, []byte("\n")) }
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		ok     bool
	}{
		"as it was written":     {func(b []byte) []byte { return b }, true},
		"cut after a line":      {func(b []byte) []byte { return bytes.Join(lines(b)[:3], nil) }, false},
		"cut within a line":     {func(b []byte) []byte { return b[:len(b)-5] }, false},
		"only its header":       {func(b []byte) []byte { return lines(b)[0] }, false},
		"another time":          {func(b []byte) []byte { return bytes.Replace(b, []byte("T03:"), []byte("T04:"), 1) }, false},
		"a line twice":          {func(b []byte) []byte { return append(b, lines(b)[2]...) }, false},
		"empty":                 {func([]byte) []byte { return nil }, false},
		"of the first version":  {func(b []byte) []byte { return bytes.Replace(b, []byte(`"version":4`), []byte(`"version":1`), 1) }, true},
		"of a version to come":  {func(b []byte) []byte { return bytes.Replace(b, []byte(`"version":4`), []byte(`"version":5`), 1) }, false},
		"of another manifest":   {func(b []byte) []byte { return bytes.Replace(b, []byte(`"manifest":"`), []byte(`"manifest":"0`), 1) }, false},
		"without its last line": {func(b []byte) []byte { return bytes.Join(lines(b)[:len(lines(b))-2], nil) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			path := filepath.Join(dir, HistoryName)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.change(slices.Clone(b)), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := OpenFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			if err := f.verifyHistory(); (err == nil) != c.ok {
				t.Errorf("verified with %v", err)
			}
		})
	}
}
