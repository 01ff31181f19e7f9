package worldbank_test

import (
	"archive/zip"
	"bytes"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/worldbank"
	"tidemark/internal/series"
)

// checkBatch checks a batch against the parser's promises.
func checkBatch(t *testing.T, b ingest.Batch) {
	t.Helper()
	covered := map[series.ID]series.Window{}
	for _, c := range b.Covers {
		covered[c.Series] = c.Window
	}
	type key struct {
		id series.ID
		at time.Time
	}
	seen := map[key]bool{}
	for _, r := range b.Readings {
		k := key{r.Series, r.ObservedAt}
		switch {
		case math.IsNaN(r.Value) || math.IsInf(r.Value, 0):
			t.Errorf("%v is %v", k, r.Value)
		case seen[k]:
			t.Errorf("two readings of %v", k)
		case r.ObservedAt.Day() != 1 || !r.ObservedAt.Equal(r.ObservedAt.Truncate(24*time.Hour)) || r.ObservedAt.Location() != time.UTC:
			t.Errorf("%v is not the first day of a month", k)
		case !covered[r.Series].Contains(r.ObservedAt) || covered[r.Series].From.IsZero() || covered[r.Series].To.IsZero():
			t.Errorf("%v is not covered by %v", k, covered[r.Series])
		}
		seen[k] = true
	}
	if len(b.Readings) > 0 && len(b.Covers) != 3 {
		t.Errorf("%d series are covered, want 3", len(b.Covers))
	}
}

// parse takes the way of the engine, which survives a library that panics on broken bytes.
func parse(address string, body []byte) (ingest.Batch, error) {
	return ingest.Parse(worldbank.Source(), series.Fetch{
		URL: address, Status: http.StatusOK, Header: map[string]string{"Content-Type": "application/octet-stream"},
		FetchedAt: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC),
	}, body)
}

func FuzzLanding(f *testing.F) {
	pages, err := filepath.Glob("testdata/landing*/body.html")
	if err != nil || len(pages) == 0 {
		f.Fatalf("no pages: %v", err)
	}
	for _, name := range pages {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		batch, err := parse(landingURL, body)
		if err != nil {
			return
		}
		if len(batch.Readings) != 0 || batch.Next == nil {
			t.Errorf("a page gives %d readings and leads to %v", len(batch.Readings), batch.Next)
			return
		}
		// The engine asks what it is told to: it must be of the World Bank, and the parser must know it again.
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, batch.Next.URL, http.NoBody)
		if err != nil || request.URL.Scheme != "https" || request.URL.User != nil {
			t.Errorf("leads to %q: %v", batch.Next.URL, err)
		}
		if _, err := parse(batch.Next.URL, pack(t, "Monthly Prices", []byte(head+months))); err != nil {
			t.Errorf("leads to %q: %v", batch.Next.URL, err)
		}
	})
}

func FuzzWorkbook(f *testing.F) {
	f.Add(pack(f, "Monthly Prices", []byte(head+months)))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if batch, err := parse(bookURL, body); err == nil {
			checkBatch(t, batch)
		}
	})
}

// FuzzSheet reaches what FuzzWorkbook hardly does, since a packed part carries a checksum.
func FuzzSheet(f *testing.F) {
	const sheet = "xl/worksheets/sheet2.xml"
	frame := pack(f, "Monthly Prices", []byte(head+months))
	repack(f, frame, func(name string, content []byte) []byte {
		if name == sheet {
			f.Add(content)
		}
		return content
	})
	in, err := zip.NewReader(bytes.NewReader(frame), int64(len(frame)))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, part := range in.File {
			if part.Name == sheet {
				continue
			}
			if err := w.Copy(part); err != nil {
				t.Fatal(err)
			}
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: sheet, Method: zip.Store})
		if err == nil {
			_, err = to.Write(content)
		}
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		if batch, err := parse(bookURL, out.Bytes()); err == nil {
			checkBatch(t, batch)
		}
	})
}
