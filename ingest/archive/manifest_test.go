package archive

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/series"
)

func FuzzReadManifest(f *testing.F) {
	const header = `{"format":"tidemark-archive","version":1}` + "\n"
	const line = `{"source":"feed","url":"https://upstream.example/a?x=1&y=2","status":200,"header":{"ETag":"\"<1>\""},` +
		`"fetched_at":"2026-03-02T15:30:00.123456Z","sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","bytes":3}` + "\n"
	f.Add([]byte(header + line + line))
	f.Add([]byte(header + `{"source":"feed","url":"http://[::1]:8/#POST","status":304,"fetched_at":"2026-03-02T15:30:00+02:00",` +
		`"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","bytes":0,"not_modified":true,"synthetic":true}`))
	f.Add([]byte(header))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		var read []series.Fetch
		manifest := []byte(header)
		for fetch, err := range ReadManifest(bytes.NewReader(text)) {
			if err != nil {
				break
			}
			line, err := formatFetch(fetch)
			if err != nil {
				t.Fatalf("%+v was read but cannot be written: %v", fetch, err)
			}
			read = append(read, fetch)
			manifest = append(manifest, line...)
		}
		var again []series.Fetch
		for fetch, err := range ReadManifest(bytes.NewReader(manifest)) {
			if err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, manifest)
			}
			again = append(again, fetch)
		}
		// An empty header and none are the same.
		for _, list := range [][]series.Fetch{read, again} {
			for i := range list {
				if len(list[i].Header) == 0 {
					list[i].Header = nil
				}
			}
		}
		if diff := cmp.Diff(read, again); diff != "" {
			t.Errorf("fetches (-read +written and read again):\n%s", diff)
		}
	})
}
