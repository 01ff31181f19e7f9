package quality_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/quality"
	"tidemark/ingest/sources"
	"tidemark/internal/config"
	"tidemark/internal/series"
)

// recorded is the folder of the recorded publisher data outside the repository.
const recorded = "../../../shared/upstream"

func needRecorded(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(recorded); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded upstream files at ../shared/upstream, beside the repository: nothing to check against")
	}
}

// vintage is a series as one recorded answer had it.
type vintage struct {
	info        series.Info
	reestimates bool
	readings    []series.Reading
	covers      []series.Window
}

// vintages reads the recordings as the sources do: for each series that one of them reads, the answers in the order of time.
func vintages(t *testing.T) map[series.ID][]vintage {
	t.Helper()
	needRecorded(t)
	dir := filepath.Join(t.TempDir(), "archive")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tool := exec.CommandContext(t.Context(), "go", "run", "./test/record", "--from", filepath.Join(filepath.Dir(root), "shared", "upstream"), "--to", dir)
	tool.Dir = root
	if out, err := tool.CombinedOutput(); err != nil {
		t.Fatalf("record: %v\n%s", err, out)
	}
	folder, err := archive.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	all := sources.All(config.Upstreams{})
	type release struct {
		source string
		at     time.Time
	}
	var order []release
	said := map[release]map[series.ID]*vintage{}
	for f, err := range folder.Fetches() {
		if err != nil {
			t.Fatal(err)
		}
		n := slices.IndexFunc(all, func(s ingest.Source) bool { return s.ID == f.Source })
		if n < 0 {
			continue
		}
		body, err := folder.Body(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := ingest.Parse(all[n], f, body)
		if err != nil {
			t.Fatal(err)
		}
		key := release{f.Source, f.FetchedAt}
		if said[key] == nil {
			order, said[key] = append(order, key), map[series.ID]*vintage{}
		}
		for _, info := range all[n].Series {
			v := said[key][info.ID]
			if v == nil {
				v = &vintage{info: info, reestimates: all[n].Reestimates}
				said[key][info.ID] = v
			}
			for _, r := range batch.Readings {
				if r.Series == info.ID {
					v.readings = append(v.readings, r)
				}
			}
			for _, c := range batch.Covers {
				if c.Series == info.ID {
					v.covers = append(v.covers, c.Window)
				}
			}
		}
	}
	found := map[series.ID][]vintage{}
	for _, key := range order {
		for id, v := range said[key] {
			if len(v.readings) > 0 {
				found[id] = append(found[id], *v)
			}
		}
	}
	return found
}

// newest is the known history as the database gives it to a check.
func newest(list []series.Reading) series.Known {
	n := max(0, len(list)-quality.HistoryDepth)
	return series.Known{Readings: list[n:], Complete: n == 0}
}

// next checks an answer that comes after another one.
func (v vintage) next(known []series.Reading) []series.Finding {
	return quality.Check(quality.Answer{
		Info: v.info, Readings: v.readings, Covers: v.covers, Newest: v.readings[len(v.readings)-1].ObservedAt, Reestimates: v.reestimates,
		Known: newest(known),
	})
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	all := vintages(t)
	t.Run("histories pass", func(t *testing.T) { passRecorded(t, all) })
	t.Run("broken histories are stopped", func(t *testing.T) { stopBroken(t, all) })
}

// silence is after how many days without a newer observation a series has certainly missed a release.
var silence = map[series.ID]int{
	"eia.RWTC": 28, "eia.WCESTUS1": 30, "portwatch.chokepoint6.n_total": 28, "worldbank.NGAS_EUR": 85, "nass.IA.CORN.YIELD.FINAL": 900,
}

// passRecorded passes every recorded history: the saved vintages in order, and the newest of them once more release by release, by the
// series' own rule of publication. All values are true, so none may be stopped.
func passRecorded(t *testing.T, vintages map[series.ID][]vintage) {
	for id, list := range vintages {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			for n, v := range list { // as the first answer of all
				for _, f := range quality.Check(quality.Answer{Info: v.info, Readings: v.readings, Covers: v.covers}) {
					t.Errorf("vintage %d: %+v", n, f)
				}
			}
			for n, v := range list[1:] {
				for _, f := range v.next(list[n].readings) {
					if f.Severity == series.SeverityError {
						t.Errorf("vintage %d: %+v", n+1, f)
					}
				}
			}
			v := list[len(list)-1]
			all := v.readings
			answers, marks := 0, map[string]int{}
			var crash bool
			// Release by release from 2018 on: the crashes of that time are the hardest, and every release reads what came before it.
			begin := max(1, slices.IndexFunc(all, func(r series.Reading) bool { return r.ObservedAt.Year() >= 2018 }))
			for end := begin + 1; end <= len(all); end++ {
				at := v.info.Published(all[end-1].ObservedAt)
				if end < len(all) && !v.info.Published(all[end].ObservedAt).After(at) {
					continue // it comes with the same release
				}
				step := v
				step.readings = all[max(0, begin-quality.HistoryDepth-300):end]
				for _, f := range step.next(all[:begin]) {
					marks[f.Check]++
					crash = crash || f.Check == quality.Jump && f.To.Equal(date("2020-04-20"))
					if f.Severity == series.SeverityError {
						t.Errorf("release %s: %+v", at.Format(time.RFC3339), f)
					}
				}
				for _, f := range quality.Late(v.info, step.readings, at) {
					t.Errorf("release %s is late when it comes: %+v", at.Format(time.RFC3339), f)
				}
				begin = end
				answers++
			}
			if days, ok := silence[id]; ok {
				at := all[len(all)-1].ObservedAt.AddDate(0, 0, days)
				late := quality.Late(v.info, all, at)
				if len(late) != 1 || late[0].Check != quality.Freshness || late[0].Severity != series.SeverityWarn {
					t.Errorf("%d days after the newest observation: %+v, want a warning that the next one is late", days, late)
				}
			}
			t.Logf("%d values in %d releases, marks %v", len(all), answers, marks)
			for check, n := range marks {
				if n > answers/100+5 {
					t.Errorf("%d of %d releases were marked by the check %s: nobody reads that", n, answers, check)
				}
			}
			if id == "eia.RWTC" && !crash {
				t.Error("crude oil at -36.98 on 2020-04-20 was not marked")
			}
		})
	}
}

// stopBroken does to the recorded histories what is known to go wrong.
func stopBroken(t *testing.T, vintages map[series.ID][]vintage) {
	for id, list := range vintages {
		v := list[len(list)-1]
		if len(v.readings) < 60 {
			continue // too few to tell anything from
		}
		known := v.readings[:len(v.readings)-1]
		for _, c := range []struct {
			name, check string
			breakIt     func(list []series.Reading) []series.Reading
		}{
			{"thousands", quality.Unit, func(l []series.Reading) []series.Reading { return with(l, times(1000)) }},
			{"a thousandth", quality.Unit, func(l []series.Reading) []series.Reading { return with(l, times(0.001)) }},
			{"the copy of an earlier page", quality.Freshness, func(l []series.Reading) []series.Reading { return l[:len(l)-4] }},
			{"half of a page", quality.RowCount, func(l []series.Reading) []series.Reading { return without(l, func(i int) bool { return i%2 == 0 }) }},
		} {
			t.Run(string(id)+" "+c.name, func(t *testing.T) {
				t.Parallel()
				broken := v
				broken.readings = c.breakIt(v.readings)
				for _, f := range broken.next(known) {
					if f.Severity == series.SeverityError && f.Check == c.check {
						return
					}
				}
				t.Errorf("it passes the check %s: %+v", c.check, broken.next(known))
			})
		}
	}
}

// readTable reads dates and values of a table's columns; an empty value is skipped.
func readTable(t *testing.T, file, dates, values string) []series.Reading {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	d, v := slices.Index(rows[0], dates), slices.Index(rows[0], values)
	var list []series.Reading
	for _, row := range rows[1:] {
		if row[v] == "" {
			continue
		}
		value, err := strconv.ParseFloat(row[v], 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, series.Reading{ObservedAt: date(row[d]), Value: value})
	}
	return list
}

// Henry Hub of October 2024: three values were revised by up to 0.21 dollars and six rows withdrawn.
func TestRecordedRevisionAndWithdrawals(t *testing.T) {
	t.Parallel()
	needRecorded(t)
	before := readTable(t, "eia/revision-vintages/henry-hub-daily-2024-10-15-before.csv", "Date", "Price")
	now := readTable(t, "eia/revision-vintages/henry-hub-daily-2024-10-22-after.csv", "Date", "Price")
	v := vintage{info: series.Info{ID: "henry-hub", Frequency: "daily"}, readings: now, covers: []series.Window{{}}}
	if got := v.next(before); len(got) != 0 {
		t.Errorf("%+v, want no findings", got)
	}
}

// PortWatch estimates the whole history again: of the days that a poll of April 2026 has, about 350 of 365 differ from the table of
// July.
func TestRecordedReestimation(t *testing.T) {
	t.Parallel()
	needRecorded(t)
	body, err := os.ReadFile(filepath.Join(recorded, "portwatch", "polls", "2026-04-21T13-36-09Z.json"))
	if err != nil {
		t.Fatal(err)
	}
	var poll struct {
		Days []struct {
			Date  string
			Total float64
		}
	}
	if err := json.Unmarshal(body, &poll); err != nil {
		t.Fatal(err)
	}
	var april []series.Reading
	for _, d := range slices.Backward(poll.Days) { // they were newest first
		april = append(april, series.Reading{ObservedAt: date(d.Date), Value: d.Total})
	}
	july := readTable(t, "portwatch/hormuz_daily_chokepoint_2026-07-06.csv", "date", "n_total")
	v := vintage{info: series.Info{ID: "n_total", Frequency: "daily"}, reestimates: true, readings: july, covers: []series.Window{{}}}
	if got := v.next(april); quality.Blocks(got) {
		t.Errorf("%+v, want it to pass where re-estimations are usual", got)
	}
	v.reestimates = false
	if got := v.next(april); !quality.Blocks(got) {
		t.Errorf("%+v, want it to be stopped where they are not", got)
	}
}
