package sources_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/sources"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/config"
	"tidemark/internal/series"
	"tidemark/signals"
)

// partOf unpacks the part of a body that a place counts in.
func partOf(t *testing.T, body []byte, p ingest.Place) []byte {
	t.Helper()
	var in io.Reader = bytes.NewReader(body)
	var err error
	switch p.Part {
	case "":
	case ingest.PartGzip:
		var one *gzip.Reader
		if one, err = gzip.NewReader(bytes.NewReader(body[p.From:p.To])); err == nil {
			one.Multistream(false)
			in = one
		}
	default:
		var archive *zip.Reader
		if archive, err = zip.NewReader(bytes.NewReader(body), int64(len(body))); err == nil {
			in, err = archive.Open(p.Part)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// unplaced are the series whose values are in no place: they are made of several values.
func unplaced(id series.ID) bool { return strings.HasSuffix(string(id), ".CONDITION") }

// checkPlaces holds the places of a response's readings against their values. Where the body itself states a number, another digit there is
// another reading and changes nothing else. It returns how many places were found.
func checkPlaces(t *testing.T, s ingest.Source, r ingest.Response, maxReadings int) int {
	t.Helper()
	batch, err := s.Parse(r)
	if err != nil {
		return 0
	}
	rng := rand.New(rand.NewPCG(19, uint64(len(r.Body))))
	readings := slices.Clone(batch.Readings)
	rng.Shuffle(len(readings), func(i, j int) { readings[i], readings[j] = readings[j], readings[i] })
	found := 0
	for _, v := range readings[:min(len(readings), maxReadings)] {
		p, ok := s.Locate(r, v.Series, v.ObservedAt)
		if !ok && !unplaced(v.Series) && v.Marker == "" {
			t.Errorf("%s: %s: no place of %s about %s", s.ID, r.Request.URL, v.Series, v.ObservedAt)
		}
		if !ok || v.Marker != "" {
			continue
		}
		found++
		text := partOf(t, r.Body, p)
		said := string(text[p.Offset : p.Offset+p.Length])
		if strings.HasPrefix(string(v.Series), "temis.") { // a mean of many cells, or a version among words
			if cells := strings.TrimSpace(said); strings.HasSuffix(string(v.Series), ".version") && !strings.Contains(said, "version") || cells == "" {
				t.Errorf("%s: the place of %s says %q", s.ID, v.Series, said)
			}
			continue
		}
		if n, err := strconv.ParseFloat(strings.ReplaceAll(said, ",", ""), 64); err != nil || abs(n-v.Value) > 1e-9*max(1, abs(n)) {
			t.Errorf("%s: %s about %s is %v, and its place says %q (%s)", s.ID, v.Series, v.ObservedAt, v.Value, said, p.Where)
		}
		if p.Part != "" {
			continue
		}
		other := slices.Clone(r.Body)
		at := p.Offset + p.Length - 1
		other[at] = '0' + (other[at]-'0'+1)%10
		r := r
		r.Body = other
		again, err := s.Parse(r)
		if err != nil {
			continue // the parser saw that it does not fit
		}
		for _, w := range again.Readings {
			if v.Series == "nass.IA.CORN.YIELD.FORECAST" && w.Series == "nass.IA.CORN.YIELD.FINAL" {
				continue // until March a row that repeats the newest forecast is no final
			}
			i := slices.IndexFunc(batch.Readings, func(b ingest.Reading) bool { return b.Series == w.Series && b.ObservedAt.Equal(w.ObservedAt) })
			if same := i >= 0 && batch.Readings[i] == w; same == (w.Series == v.Series && w.ObservedAt.Equal(v.ObservedAt)) {
				t.Errorf("%s: after a change at the place of %s about %s, %s about %s is %v", s.ID, v.Series, v.ObservedAt, w.Series, w.ObservedAt, w.Value)
			}
		}
	}
	return found
}

func abs(v float64) float64 { return max(v, -v) }

// A place leads to the bytes that make a reading, in every form of answer that may be shown.
func TestAPlaceIsWhereTheBytesStateTheReading(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	handler := sources.Sandbox(synth.World{Seed: 1, Now: func() time.Time { return now }}, calendar.IsTradingDay)
	for _, s := range sources.All(config.Upstreams{}) {
		if s.Locate == nil {
			for _, v := range s.Series {
				if slices.ContainsFunc(signals.All(), func(d signals.Definition) bool { return slices.Contains(d.Inputs, v.ID) }) {
					t.Errorf("%s does not locate %s, which a signal reads", s.ID, v.ID)
				}
			}
			continue
		}
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			var window series.Window
			if s.Window != nil {
				window = s.Window(now, now.AddDate(0, -2, 0))
			}
			requests, err := s.Request(window)
			if err != nil {
				t.Fatal(err)
			}
			places := 0
			for _, first := range requests {
				for r := &first; r != nil; {
					method := r.Method
					if method == "" {
						method = http.MethodGet
					}
					req := httptest.NewRequestWithContext(t.Context(), method, r.URL, bytes.NewReader(r.Body))
					req.Header = r.Header.Clone()
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, req)
					if slices.Contains(r.Absent, w.Code) {
						r = r.Else
						continue
					}
					answer := ingest.Response{Request: *r, Header: w.Header(), Body: w.Body.Bytes(), FetchedAt: now}
					places += checkPlaces(t, s, answer, 12)
					batch, err := s.Parse(answer)
					if err != nil {
						t.Fatal(err)
					}
					r = batch.Next
				}
			}
			if places == 0 {
				t.Error("no place was found")
			}
		})
	}
}

// The cases of the parsers have what publishers do in earnest: blanks, markers, other orders of columns, dates in other forms.
func TestAPlaceIsFoundInTheCasesOfTheParsers(t *testing.T) {
	t.Parallel()
	places := 0
	for _, name := range []string{"eia", "portwatch", "nass"} {
		dirs, err := filepath.Glob("../" + name + "/testdata/*/expected.csv")
		if err != nil || len(dirs) == 0 {
			t.Fatalf("%s: no cases (%v)", name, err)
		}
		for _, file := range dirs {
			dir := filepath.Dir(file)
			if _, err := os.Stat(filepath.Join(dir, "meta.json")); err != nil {
				continue
			}
			r := ingesttest.Load(t, dir).Response
			if strings.Contains(r.Request.URL, "api.") || strings.Contains(r.Request.URL, "api_GET") {
				continue // an answer to a key
			}
			for _, s := range sources.All(config.Upstreams{}) {
				if s.Locate != nil {
					places += checkPlaces(t, s, r, 40)
				}
			}
		}
	}
	if places < 50 {
		t.Errorf("%d places were found", places)
	}
}
