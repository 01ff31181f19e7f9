package temis_test

import (
	"bytes"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/temis"
	"tidemark/internal/series"
)

// boundingBox is a region, written down a second time.
type boundingBox struct{ south, north, west, east float64 }

var boxes = map[series.ID]boundingBox{
	"temis.NO2.yangtze": {30, 33, 118, 122}, "temis.NO2.pearl": {22, 23.5, 112.5, 114.5},
	"temis.NO2.benelux_ruhr": {50.5, 52.5, 3.5, 8}, "temis.NO2.po": {44.5, 46, 8, 12}, "temis.NO2.delhi": {28, 29.2, 76.5, 78},
	"temis.NO2.tokyo": {35, 36.2, 139, 140.5}, "temis.NO2.houston": {29, 30.5, -96, -94.5}, "temis.NO2.new_york": {40, 41.5, -75, -73},
}

// slowly reads a grid in another way: the whole text at once, the rows by their own latitude, the cells by comparing each centre with
// each box.
func slowly(t *testing.T, text []byte) map[series.ID]float64 {
	t.Helper()
	type sums struct{ value, weight, valid, all float64 }
	found := map[series.ID]sums{}
	for block := range strings.SplitSeq(string(text[bytes.Index(text, []byte("lat=")):]), "lat=") {
		if block == "" {
			continue
		}
		name, values, _ := strings.Cut(block, "\n")
		lat, err := strconv.ParseFloat(strings.TrimSpace(name), 64)
		if err != nil {
			t.Fatal(err)
		}
		values = strings.ReplaceAll(values, "\n", "")
		for id, b := range boxes {
			if lat < b.south || lat > b.north {
				continue
			}
			s := found[id]
			for c := range 2880 {
				lon := -180 + (float64(c)+0.5)/8
				if lon < b.west || lon > b.east {
					continue
				}
				v, err := strconv.Atoi(strings.TrimSpace(values[4*c : 4*c+4]))
				if err != nil {
					t.Fatal(err)
				}
				s.all++
				if v != -999 {
					s.valid++
					s.value += float64(v) * math.Cos(lat/180*math.Pi)
					s.weight += math.Cos(lat / 180 * math.Pi)
				}
			}
			found[id] = s
		}
	}
	means := map[series.ID]float64{}
	for id, s := range found {
		if s.valid/s.all >= 0.6 {
			means[id] = s.value / s.weight / 100 * 16.605 // 100 units are 1e15 molecules/cm2
		}
	}
	return means
}

// The index is made of logarithms of the means, which are therefore not rounded to the four decimals of before.
func TestMeansAgreeWithASlowReading(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"month", "glued-neighbours", "six-of-ten-cells-defined"} {
		r := loadCase(t, "testdata/"+name)
		batch, err := temis.Source().Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		want := slowly(t, unpack(t, r.Body))
		numbers := 0
		for _, v := range batch.Readings {
			if _, region := boxes[v.Series]; !region || v.Marker != "" {
				continue
			}
			numbers++
			if mean, ok := want[v.Series]; !ok || math.Abs(v.Value-mean) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v (present: %t)", name, v.Series, v.Value, mean, ok)
			}
		}
		if numbers != len(want) {
			t.Errorf("%s: %d numbers, want %d", name, numbers, len(want))
		}
	}
}

// values reads a grid whose cells are drawn by a function.
func values(t *testing.T, cell func(row, column int) int) map[series.ID]ingest.Reading {
	t.Helper()
	body, err := temis.Grid{Month: month(2021, 7), Version: "1.0", Cell: cell}.Gzip()
	if err != nil {
		t.Fatal(err)
	}
	batch, err := temis.Source().Parse(fetchResponse(month(2021, 7), body))
	if err != nil {
		t.Fatal(err)
	}
	got := map[series.ID]ingest.Reading{}
	for _, v := range batch.Readings {
		got[v.Series] = v
	}
	return got
}

func TestMeanOfARegion(t *testing.T) {
	t.Parallel()
	yangtze := func(v map[series.ID]ingest.Reading) ingest.Reading { return v["temis.NO2.yangtze"] }
	// 30.0625 N is row 960 from the south; the delta has 24 rows of 32 cells.
	const south, north = 960, 983
	for _, tc := range []struct {
		fact   string
		cell   func(row, column int) int
		want   float64
		marker string
	}{
		{"1e15 molecules/cm2 everywhere", func(int, int) int { return 100 }, 16.605, ""},
		{"noise below zero counts", func(_, c int) int { return 200 - 300*(c%2) }, 0.5 * (200 - 100) * 0.16605, ""},
		{"only noise below zero", func(int, int) int { return -7 }, -7 * 0.16605, ""},
		{"northern rows weigh less", func(r, _ int) int {
			if r == south {
				return 2400
			}
			return 0
		}, 2400 * 0.16605 * math.Cos(30.0625*math.Pi/180) / cosines(30.0625, 24), ""},
		{"a quarter of the rows undefined", func(r, _ int) int {
			if r > north-6 {
				return temis.Undefined
			}
			return 50
		}, 8.3025, ""},
		{"ten of twenty-four rows undefined", func(r, _ int) int {
			if r > north-10 {
				return temis.Undefined
			}
			return 50
		}, 0, "undef"},
		{"all undefined", func(int, int) int { return temis.Undefined }, 0, "undef"},
	} {
		got := yangtze(values(t, tc.cell))
		if got.Marker != tc.marker || math.Abs(got.Value-tc.want) > 1e-9 {
			t.Errorf("%s: %v%s, want %v%s", tc.fact, got.Value, got.Marker, tc.want, tc.marker)
		}
	}
}

// cosines adds up the cosines of n rows from a latitude on.
func cosines(from float64, n int) (sum float64) {
	for i := range n {
		sum += math.Cos((from + float64(i)/8) * math.Pi / 180)
	}
	return sum
}

func TestWhatDoesNotFitFourCharactersIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, v := range []int{10_000, -1_000} {
		if _, err := (temis.Grid{Month: month(2021, 7), Version: "1.0", Cell: func(int, int) int { return v }}).Gzip(); err == nil {
			t.Errorf("%d was written", v)
		}
	}
}

func TestGridsThatAreNotWhatTheyShouldBe(t *testing.T) {
	t.Parallel()
	r := loadCase(t, "testdata/month")
	good := string(unpack(t, r.Body))
	change := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the grid has no %q", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	delhi := good[strings.Index(good, "lat=   28.0625\n"):]
	row := delhi[:strings.Index(delhi[4:], "lat=")+4]
	lines := strings.SplitAfter(row, "\n")
	cells := lines[1+2056/20] // the cells 2,041 to 2,060: the first of Delhi is 2,053
	for _, tc := range []struct{ fact, text, want string }{
		{"no version", change(", version 1.0", ""), `line 1 is "TROPOMI monthly-mean tropospheric NO2 columns", want`},
		{"another gas", change("NO2", "SO2"), "line 1 is"},
		{"another month", change("Month  2", "Month  3"), `line 2 is "Year 2019 Month 3`},
		{"another sign for undefined", change("undef=-999", "undef=-99"), "line 2 is"},
		{"a coarser grid", change("2880 bins", "1440 bins"), `line 3 is "Longitudes: 1440 bins`},
		{"from north to south", change("89.9375 S to  89.9375 N", "89.9375 N to  89.9375 S"), "line 4 is"},
		{"a latitude left out", change(row, ""), "want lat= 28.0625"},
		{"a latitude twice", change(row, row+row), "want lat= 28.1875"},
		{"latitudes that are not named", strings.Replace(good, "lat=", "LAT=", 1), `line 5 is "LAT=  -89.9375", want lat= -89.9375`},
		{"a line of a row left out", change(row, strings.Join(append(lines[:7:7], lines[8:]...), "")), "has other than 2880 numbers of 4 characters"},
		{"a line of a row twice", change(row, strings.Join(append(lines[:7:7], lines[6:]...), "")), "want lat= 28.1875"},
		{"values that are kept apart", change(cells, strings.ReplaceAll(cells, "-999", " -999")), "has other than 2880 numbers"},
		{"a word for a number", change(cells, cells[:76]+" NaN\n"), `cell 2060: " NaN" is not a number`},
		{"a blank cell", change(cells, cells[:76]+"    \n"), `cell 2060: "    " is not a number`},
		{"a number with a point", change(cells, cells[:76]+" 1.5\n"), `cell 2060: " 1.5" is not a number`},
		{"a sign alone", change(cells, cells[:76]+"   -\n"), `cell 2060: "   -" is not a number`},
		{"two signs", change(cells, cells[:76]+" --5\n"), `cell 2060: " --5" is not a number`},
		{"a blank within a number", change(cells, cells[:76]+" 1 2\n"), `cell 2060: " 1 2" is not a number`},
		{"more after the end", good + "lat=   90.0625\n", "continues after the last of 1440 latitudes"},
		{"one latitude short", good[:strings.LastIndex(good, "lat=")], "read latitude 1440 of 1440: unexpected EOF"},
		{"only the head", good[:strings.Index(good, "lat=")], "read latitude 1 of 1440: unexpected EOF"},
		{"only the first line", good[:strings.Index(good, "\n")], "read the head: unexpected EOF"},
		{"a line without end", strings.Repeat("x", 100_000), "longer than any of a grid"},
		{"blank lines without end", good + strings.Repeat("\n", 20<<20), "the text continues after"},
	} {
		r.Body = []byte(tc.text)
		if batch, err := temis.Source().Parse(r); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %d readings, error is %v, want %q", tc.fact, len(batch.Readings), err, tc.want)
		}
	}
}

func TestFormsOfAGrid(t *testing.T) {
	t.Parallel()
	r := loadCase(t, "testdata/month")
	want, err := temis.Source().Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	text := unpack(t, r.Body)
	for fact, body := range map[string][]byte{
		"in one packed part":   pack(t, text),
		"unpacked on the way":  text,
		"without the last end": text[:len(text)-1],
		"with more line ends":  append(bytes.Clone(text), "\n \r\n\n"...),
		"of another system":    bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")),
		"one line a latitude":  joined(text),
	} {
		r.Body = body
		got, err := temis.Source().Parse(r)
		if err != nil {
			t.Errorf("%s: %v", fact, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fact, diff)
		}
	}
}

// joined puts all values of a latitude on one line.
func joined(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if line[0] == 'l' && len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		if bytes.HasPrefix(line, []byte("lat=")) || bytes.Contains(line, []byte(":")) || bytes.Contains(line, []byte(",")) {
			out = append(out, line...)
			continue
		}
		out = append(out, bytes.TrimSuffix(line, []byte("\n"))...)
	}
	return out
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for stated, want := range map[string]float64{"1.0": 1, "2.4": 2.04, "2.4.0": 2.04, "2.10": 2.1, "3": 3, "v2.8.1 (OFFL)": 2.08} {
		body, err := temis.Grid{Month: month(2021, 7), Version: stated}.Gzip()
		if err != nil {
			t.Fatal(err)
		}
		batch, err := temis.Source().Parse(fetchResponse(month(2021, 7), body))
		if err != nil {
			t.Errorf("%s: %v", stated, err)
			continue
		}
		last := batch.Readings[len(batch.Readings)-1]
		if last.Series != "temis.NO2.version" || last.Value != want {
			t.Errorf("version %s is read as %s %v, want %v", stated, last.Series, last.Value, want)
		}
	}
}

// A file that broke off on the way must never pass for a grid.
func TestPackedGridCutAnywhereFails(t *testing.T) {
	t.Parallel()
	r := loadCase(t, "testdata/month")
	whole := r.Body
	for n := 1; n < len(whole); n += 9973 {
		r.Body = whole[:n]
		if _, err := temis.Source().Parse(r); err == nil {
			t.Fatalf("%d of %d bytes were taken for a grid", n, len(whole))
		}
	}
	for n := len(whole) - 9; n < len(whole); n++ {
		r.Body = whole[:n]
		if _, err := temis.Source().Parse(r); err == nil {
			t.Fatalf("%d of %d bytes were taken for a grid", n, len(whole))
		}
	}
	r.Body = bytes.Clone(whole)
	r.Body[len(whole)/2] ^= 0x10
	if _, err := temis.Source().Parse(r); err == nil {
		t.Error("a bit that fell over was not noticed")
	}
}

// Not parallel: it measures the process. A grid has 16.8 MB of text and must not be held.
func TestParserHoldsOneRow(t *testing.T) {
	r := loadCase(t, "testdata/month")
	parse := func() {
		if _, err := temis.Source().Parse(r); err != nil {
			t.Fatal(err)
		}
	}
	parse()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const grids = 10
	for range grids {
		parse()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / grids; each > 256<<10 {
		t.Errorf("a grid of 16.8 MB takes %d bytes", each)
	}
	if n := testing.AllocsPerRun(3, parse); n > 1000 {
		t.Errorf("%v allocations for a grid: that is one for each row", n)
	}
}

// What follows a month, as the address of each grid that may be asked for and whether it may be absent.
func TestMonthsThatFollow(t *testing.T) {
	t.Parallel()
	body, err := temis.Grid{Month: month(2026, 1), Version: "1.0"}.Gzip()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		fact, fetched string
		want          string
	}{
		{"in the month itself nothing", "2026-01-31T23:59:59Z", ""},
		{"nor before the next one is over", "2026-02-28T23:59:59Z", ""},
		{"then the next one, which may be late", "2026-03-01T00:00:00Z", "2026/02?"},
		{"or the one after it", "2026-04-05T10:00:00Z", "2026/02? 2026/03?"},
		{"or any of the last three", "2026-05-05T10:00:00Z", "2026/02? 2026/03? 2026/04?"},
		{"long ago a gap of two is allowed", "2027-01-05T10:00:00Z", "2026/02? 2026/03? 2026/04"},
	} {
		r := fetchResponse(month(2026, 1), body)
		if r.FetchedAt, err = time.Parse(time.RFC3339, tc.fetched); err != nil {
			t.Fatal(err)
		}
		batch, err := temis.Source().Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for next := batch.Next; next != nil; next = next.Else {
			m := strings.Split(next.URL, "/no2/")[1][:7]
			if next.Absent != nil {
				m += "?"
			}
			got = append(got, m)
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.fact, diff)
		}
	}
}

func FuzzGrid(f *testing.F) {
	packed, err := temis.Grid{Month: month(2019, 2), Version: "1.0"}.Gzip()
	if err != nil {
		f.Fatal(err)
	}
	text := unpack(f, packed)
	f.Add(packed)
	f.Add(text[:24_000])
	f.Add(text[:300])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		batch, err := temis.Source().Parse(fetchResponse(month(2019, 2), body))
		if err != nil || len(body) == 0 {
			return
		}
		if len(batch.Readings) != 9 {
			t.Errorf("%d readings", len(batch.Readings))
		}
		for _, v := range batch.Readings {
			if v.Marker == "" && (math.IsNaN(v.Value) || math.Abs(v.Value) > 9999) || !v.ObservedAt.Equal(month(2019, 2)) {
				t.Errorf("a reading of %+v", v)
			}
		}
	})
}
