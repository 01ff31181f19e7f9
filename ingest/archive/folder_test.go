package archive_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/internal/series"
)

const headerLine = `{"format":"tidemark-archive","version":1}` + "\n"

func entryLine(members string) string {
	return `{"source":"feed","url":"https://upstream.example/a","status":200,"fetched_at":"2026-03-02T15:30:00Z","sha256":"` + abc + `","bytes":3` + members + "}\n"
}

// fetches reads all of a manifest.
func fetches(text string) ([]series.Fetch, error) {
	var all []series.Fetch
	for f, err := range archive.ReadManifest(strings.NewReader(text)) {
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
	return all, nil
}

func TestTheManifestOfTheREADMEIsRead(t *testing.T) {
	t.Parallel()
	got, err := fetches(headerLine +
		`{"source":"eia","url":"https://api.example/v2/data?api_key=REDACTED&offset=0","status":200,"header":{"Content-Type":"application/json","ETag":"\"5f1\""},"fetched_at":"2026-06-05T16:30:02.1184567+02:00","sha256":"` + abc + `","bytes":48211}` + "\n" +
		`{"source":"eia","url":"https://api.example/v2/data#POST-9f86d081884c7d65","status":304,"fetched_at":"2026-06-05T14:30:02Z","sha256":"` + abc + `","bytes":0,"not_modified":true,"synthetic":true,"constructed":true}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []series.Fetch{
		{
			Source: "eia", URL: "https://api.example/v2/data?api_key=REDACTED&offset=0", Status: 200,
			Header:    map[string]string{"Content-Type": "application/json", "ETag": `"5f1"`},
			FetchedAt: time.Date(2026, 6, 5, 14, 30, 2, 118456000, time.UTC), SHA256: abc, Bytes: 48211,
		},
		{
			Source: "eia", URL: "https://api.example/v2/data#POST-9f86d081884c7d65", Status: 304,
			FetchedAt: time.Date(2026, 6, 5, 14, 30, 2, 0, time.UTC), SHA256: abc, NotModified: true, Synthetic: true, Constructed: true,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fetches (-want +got):\n%s", diff)
	}
}

func TestABadLineIsNamedByItsNumber(t *testing.T) {
	t.Parallel()
	tests := []struct{ fact, text, says string }{
		{"an empty file", "", "line 1: it is empty, expected a header"},
		{"no header", entryLine(""), "line 1: not a JSON object of this format"},
		{"another format", `{"format":"har","version":1}`, `line 1: format "har", expected "tidemark-archive"`},
		{"a later version", `{"format":"tidemark-archive","version":2}`, "line 1: version 2, this program reads version 1"},
		{"a cut line", headerLine + entryLine("") + entryLine("")[:40], "line 3: not a JSON object"},
		{"an empty line", headerLine + "\n" + entryLine(""), "line 2: not a JSON object"},
		{"two values", headerLine + strings.TrimSpace(entryLine("")) + entryLine(""), "line 2: more than one"},
		{"an unknown member", headerLine + entryLine(`,"sha512":"x"`), `line 2: not a JSON object of this format: json: unknown field "sha512"`},
		{"null", headerLine + "null\n", "line 2: no source"},
		{"a member of another type", headerLine + entryLine(`,"synthetic":"yes"`), "line 2"},
		{"a digest in capitals", headerLine + strings.ToUpper(entryLine("")), "line 2"},
		{"304 that confirms nothing", headerLine + entryLine(`,"status":304`), "line 2: status 304 with not_modified false"},
		{"200 that confirms", headerLine + entryLine(`,"not_modified":true`), "line 2: status 200 with not_modified true"},
		{"no such status", headerLine + entryLine(`,"status":42`), "line 2: status 42"},
		{"a local URL", headerLine + entryLine(`,"url":"file:///etc/passwd"`), "line 2: url"},
		{"credentials", headerLine + entryLine(`,"url":"https://a:b@upstream.example/"`), "line 2: the url holds credentials"},
		{"a header that splits", headerLine + entryLine(`,"header":{"ETag":"a\r\nb"}`), `line 2: "ETag" is not a header`},
		{"no time", headerLine + entryLine(`,"fetched_at":null,"fetched_at":"0001-01-01T00:00:00Z"`), "line 2: no fetched_at"},
		{"negative length", headerLine + entryLine(`,"bytes":-1`), "line 2: bytes -1"},
		{"an endless line", headerLine + strings.Repeat(" ", 2<<20), "line 2: longer than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			if _, err := fetches(tt.text); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want an error that says %q", err, tt.says)
			}
		})
	}
}

func TestLinesBeforeABadOneAreYielded(t *testing.T) {
	t.Parallel()
	got, err := fetches(headerLine + entryLine("") + entryLine("") + "torn")
	if err == nil || len(got) != 2 {
		t.Errorf("got %d fetches and error %v, want 2 and an error", len(got), err)
	}
}

// fetch is one good fetch of a body.
func fetch(url string, minute int) series.Fetch {
	return series.Fetch{
		Source: "feed", URL: url, Status: 200, Header: map[string]string{"Content-Type": "text/csv", "ETag": `"<1>"`},
		FetchedAt: time.Date(2026, 3, 2, 15, minute, 0, 123456000, time.UTC),
	}
}

// record writes an archive folder.
func record(t *testing.T, dir string, write func(*archive.Writer)) {
	t.Helper()
	w, err := archive.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderTellsWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	long := []byte(strings.Repeat("2026-03-02,1.25\n", 500))
	confirmed := fetch("https://upstream.example/a?x=1&y=2", 2)
	confirmed.Status, confirmed.NotModified, confirmed.SHA256, confirmed.Bytes = 304, true, abc, 3
	record(t, dir, func(w *archive.Writer) {
		for _, step := range []error{
			w.Add(t.Context(), fetch("https://upstream.example/a?x=1&y=2", 1), []byte("abc")),
			w.Add(t.Context(), confirmed, nil),
		} {
			if step != nil {
				t.Fatal(step)
			}
		}
	})
	record(t, dir, func(w *archive.Writer) { // and more, another day
		if err := w.Add(t.Context(), fetch("https://upstream.example/long", 3), long); err != nil {
			t.Fatal(err)
		}
	})

	folder, err := archive.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	first := fetch("https://upstream.example/a?x=1&y=2", 1)
	first.SHA256, first.Bytes = abc, 3
	want := []string{"abc", "abc", string(long)}
	var got []string
	var read []series.Fetch
	for f, err := range folder.Fetches() {
		if err != nil {
			t.Fatal(err)
		}
		body, err := folder.Body(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, f)
		got = append(got, string(body))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]series.Fetch{first, confirmed}, read[:2]); diff != "" {
		t.Errorf("fetches (-want +got):\n%s", diff)
	}
	if n, err := folder.Verify(t.Context()); n != 3 || err != nil {
		t.Errorf("Verify = %d, %v, want 3 and no error", n, err)
	}
	if last, err := archive.LastFetch(dir); err != nil || !last.Equal(fetch("", 3).FetchedAt) {
		t.Errorf("LastFetch = %s, %v, want %s", last, err, fetch("", 3).FetchedAt)
	}
}

func TestARecordingMayBeRunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var manifests []string
	for range 2 {
		record(t, dir, func(w *archive.Writer) {
			for i := range 3 {
				if err := w.Add(t.Context(), fetch("https://upstream.example/a", i%2), []byte("abc")); err != nil {
					t.Fatal(err)
				}
			}
		})
		manifests = append(manifests, files(t, dir)[archive.ManifestName])
	}
	if n, err := verify(t, dir); n != 2 || err != nil || manifests[0] != manifests[1] {
		t.Errorf("Verify = %d, %v, want the 2 different fetches; manifests:\n%s\n%s", n, err, manifests[0], manifests[1])
	}
}

func TestAMissingOrCorruptBodyIsNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact  string
		spoil func(t *testing.T, file string)
		says  string
	}{
		{"missing", func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, "blobs/ba/" + abc + " is missing"},
		{"corrupt", func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte("abd"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "blobs/ba/" + abc + " is corrupt"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			record(t, dir, func(w *archive.Writer) {
				for i := range 3 { // one body, three times
					if err := w.Add(t.Context(), fetch("https://upstream.example/a", i), []byte("abc")); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Add(t.Context(), fetch("https://upstream.example/b", 5), []byte("other")); err != nil {
					t.Fatal(err)
				}
			})
			tt.spoil(t, filepath.Join(dir, "blobs", "ba", abc))
			folder, err := archive.OpenFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			n, err := folder.Verify(t.Context())
			if n != 4 || !errors.Is(err, ingest.ErrNotArchived) {
				t.Fatalf("Verify = %d, %v, want 4 fetches and ErrNotArchived", n, err)
			}
			for _, w := range []string{tt.says, "https://upstream.example/a"} {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if strings.Count(err.Error(), "\n") != 0 {
				t.Errorf("the body is named more than once: %v", err)
			}
		})
	}
}

func TestALengthThatIsNotTheBodysIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record(t, dir, func(w *archive.Writer) {
		if err := w.Add(t.Context(), fetch("https://upstream.example/a", 1), []byte("abc")); err != nil {
			t.Fatal(err)
		}
	})
	folder, err := archive.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := fetch("https://upstream.example/a", 1)
	f.SHA256, f.Bytes = abc, 4
	if _, err := folder.Body(t.Context(), f); !errors.Is(err, ingest.ErrNotArchived) || !strings.Contains(err.Error(), "3 bytes, the manifest says 4") {
		t.Errorf("got %v, want ErrNotArchived with both lengths", err)
	}
}

func TestAWriterThatIsGivenUpLeavesTheManifestAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record(t, dir, func(w *archive.Writer) {
		if err := w.Add(t.Context(), fetch("https://upstream.example/a", 1), []byte("abc")); err != nil {
			t.Fatal(err)
		}
	})
	before := files(t, dir)[archive.ManifestName]
	w, err := archive.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(t.Context(), fetch("https://upstream.example/b", 2), []byte("other")); err != nil {
		t.Fatal(err)
	}
	// A killed process stops here; the folder is whole without any clean-up.
	if n, err := verify(t, dir); n != 1 || err != nil {
		t.Errorf("Verify = %d, %v, want the 1 fetch of before", n, err)
	}
	for range 2 { // the second does nothing
		if err := w.Abort(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err == nil {
		t.Error("a writer that was given up could be closed")
	}
	if diff := cmp.Diff(before, files(t, dir)[archive.ManifestName]); diff != "" {
		t.Errorf("manifest (-before +after):\n%s", diff)
	}
}

func verify(t *testing.T, dir string) (int, error) {
	t.Helper()
	folder, err := archive.OpenFolder(dir)
	if err != nil {
		return 0, err
	}
	return folder.Verify(t.Context())
}

func TestNothingIsAddedToABrokenManifest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, archive.ManifestName), []byte(headerLine+entryLine("")[:30]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.NewWriter(dir); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v, want an error about line 2", err)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("the folder holds %v, want the manifest alone", got)
	}
}

func TestAFetchThatDoesNotFitItsBodyIsNotAdded(t *testing.T) {
	t.Parallel()
	good := fetch("https://upstream.example/a", 1)
	tests := []struct {
		fact   string
		change func(*series.Fetch)
		body   []byte
	}{
		{"another digest", func(f *series.Fetch) { f.SHA256 = strings.Repeat("0", 64) }, []byte("abc")},
		{"another length", func(f *series.Fetch) { f.Bytes = 4 }, []byte("abc")},
		{"a body that the folder does not hold", func(f *series.Fetch) { f.SHA256, f.Bytes = abc, 3 }, nil},
		{"no source", func(f *series.Fetch) { f.Source = "" }, []byte("abc")},
		{"no time", func(f *series.Fetch) { f.FetchedAt = time.Time{} }, []byte("abc")},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			record(t, dir, func(w *archive.Writer) {
				f := good
				tt.change(&f)
				if err := w.Add(t.Context(), f, tt.body); err == nil {
					t.Error("it was added")
				}
			})
			if got := files(t, dir); len(got) != 1 || got[archive.ManifestName] != headerLine {
				t.Errorf("the folder holds %v, want a manifest without fetches", got)
			}
		})
	}
}

func TestAFolderWithoutAManifestIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := archive.OpenFolder(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want fs.ErrNotExist that names the folder", err)
	}
	if _, err := archive.LastFetch(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	record(t, dir, func(*archive.Writer) {})
	if _, err := archive.LastFetch(dir); err == nil || !strings.Contains(err.Error(), "holds no fetch") {
		t.Errorf("got %v, want an error that says that there is no fetch", err)
	}
}
