package api_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

const crack = "/api/signals/crack-spread-321"

// estimate returns a point of the crack spread, n days after 2026-02-20, known two days later.
func estimate(n int, value float64) signals.Estimate {
	at := time.Date(2026, time.February, 20+n, 0, 0, 0, 0, time.UTC)
	return signals.Estimate{
		ObservedAt: series.InstantOf(at), KnownAt: series.InstantOf(at.AddDate(0, 0, 2).Add(90*time.Second + 250*time.Millisecond)),
		Value: value, Lo: value - 1, Hi: value + 1, Baseline: 20, Scale: 2, N: 9,
	}
}

// say stores a snapshot of the crack spread at an instant, about its newest point, with the whole track.
func (s *system) say(at time.Time, track ...signals.Estimate) {
	s.t.Helper()
	e := track[len(track)-1]
	snap := full()
	snap.At, snap.CoversFrom, snap.ObservedAt, snap.KnownAt = at, new(track[0].ObservedAt.Time()), new(e.ObservedAt.Time()), new(e.KnownAt.Time())
	snap.Value, snap.Lo, snap.Hi = postgres.Known(e.Value), postgres.Known(e.Lo), postgres.Known(e.Hi)
	if err := s.worker.SaveSnapshot(s.t.Context(), task.Fence{}, snap, track); err != nil {
		s.t.Fatal(err)
	}
}

// told is a system with three snapshots of the crack spread: on 2, 3 and 4 March at 11:00.
func told(t *testing.T) *system {
	t.Helper()
	s := start(t, setup{})
	unknown := estimate(2, 22)
	unknown.Lo, unknown.Hi, unknown.Baseline = math.NaN(), math.NaN(), math.NaN()
	s.say(noon.Add(-49*time.Hour), estimate(0, 20.5), estimate(1, 21), unknown)
	revised := estimate(1, 21.25) // the publisher changed an input
	revised.KnownAt = series.InstantOf(noon.Add(-26 * time.Hour))
	s.say(noon.Add(-25*time.Hour), estimate(0, 20.5), revised, unknown, estimate(3, 19))
	s.say(noon.Add(-time.Hour), estimate(0, 20.5), unknown, estimate(3, 19), estimate(4, 18))
	s.eventually("the newest to be served", func() bool { return s.get(crack)["value"] == 18.0 })
	return s
}

// values returns the days and values of a listing, "20=20.5".
func values(t *testing.T, body map[string]any) string {
	t.Helper()
	var out []string
	for _, row := range body["data"].([]any) {
		row := row.(map[string]any)
		at, err := time.Parse(time.RFC3339, row["observed_at"].(string))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d=%v", at.Day(), row["value"]))
	}
	return strings.Join(out, " ")
}

func TestHistoryListsAllPoints(t *testing.T) {
	t.Parallel()
	s := told(t)
	got := s.get(crack + "/history")
	want := map[string]any{
		"id": "crack-spread-321", "name": "3:2:1 crack spread", "unit": "USD/bbl", "frequency": "daily", "as_of": "2026-03-04T11:00:00Z",
		"uncertainty_level": 0.9, "uncertainty_bounds": "next_first_print", "uncertainty_basis": "measured", "baseline_method": "same_week_5y_mean",
		"data": []any{
			map[string]any{
				"observed_at": "2026-02-20T00:00:00Z", "published_at": "2026-02-22T00:01:30.25Z", "published_at_assumed": true,
				"ingested_at": "2026-02-24T12:00:00Z", "value": 20.5, "uncertainty_lo": 19.5,
				"uncertainty_hi": 21.5, "baseline_value": 20.0, "delta_vs_baseline_pct": 2.5, "z_score": 0.25, "vintage": 1.0,
				"revised": false, "bounds": "next_first_print", "basis": "measured",
			},
			map[string]any{
				"observed_at": "2026-02-22T00:00:00Z", "published_at": "2026-02-24T00:01:30.25Z", "published_at_assumed": true,
				"ingested_at": "2026-02-24T12:00:00Z", "value": 22.0, "uncertainty_lo": nil,
				"uncertainty_hi": nil, "baseline_value": nil, "delta_vs_baseline_pct": nil, "z_score": nil, "vintage": 1.0, "revised": false,
				"bounds": nil, "basis": nil,
			},
			map[string]any{
				"observed_at": "2026-02-23T00:00:00Z", "published_at": "2026-02-25T00:01:30.25Z", "published_at_assumed": false,
				"ingested_at": "2026-02-25T00:01:30.25Z", "value": 19.0, "uncertainty_lo": 18.0,
				"uncertainty_hi": 20.0, "baseline_value": 20.0, "delta_vs_baseline_pct": -5.0, "z_score": -0.5, "vintage": 1.0,
				"revised": false, "bounds": "next_first_print", "basis": "measured",
			},
			map[string]any{
				"observed_at": "2026-02-24T00:00:00Z", "published_at": "2026-02-26T00:01:30.25Z", "published_at_assumed": false,
				"ingested_at": "2026-02-26T00:01:30.25Z", "value": 18.0, "uncertainty_lo": 17.0,
				"uncertainty_hi": 19.0, "baseline_value": 20.0, "delta_vs_baseline_pct": -10.0, "z_score": -1.0, "vintage": 1.0,
				"revised": false, "bounds": "next_first_print", "basis": "measured",
			},
		},
		"pagination": map[string]any{"limit": nil, "next_cursor": nil, "has_more": false},
		"license":    "Public domain; acknowledgement requested", "source_url": "https://upstream.example/data?a=1&b=2",
		"synthetic": false, "environment": "live", "disclaimer": "Editorial information, not personalized investment advice.",
		"meta": map[string]any{"warnings": []any{}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	snap := s.get(crack)
	if snap["history_url"] != s.url+crack+"/history" {
		t.Errorf("history_url = %v", snap["history_url"])
	}
	if ld := snap["json_ld"].(map[string]any); ld["temporalCoverage"] != "2026-02-20/2026-02-24" {
		t.Errorf("temporalCoverage = %v", ld["temporalCoverage"])
	}
	if got := s.get("/api/signals/lng-arbitrage/history"); got["as_of"] != nil || len(got["data"].([]any)) != 0 {
		t.Errorf("of a signal that never spoke: %v", got)
	}
}

func TestHistoryAsItWas(t *testing.T) {
	t.Parallel()
	s := told(t)
	only := httptest.NewServer(s.server.SignalsHandler())
	t.Cleanup(only.Close)
	for _, c := range []struct{ name, query, want string }{
		{"before anything was said", "?as_of=2026-03-02T10:59:59Z", ""},
		{"on the first day", "?as_of=2026-03-02", "20=20.5 21=21 22=22"},
		{"from the microsecond on at which it was said", "?as_of=2026-03-03T11:00:00Z", "20=20.5 21=21.25 22=22 23=19"},
		{"until the microsecond before", "?as_of=2026-03-03T10:59:59.999999Z", "20=20.5 21=21 22=22"},
		{"in another zone", "?as_of=2026-03-03T16:30:00%2B05:30", "20=20.5 21=21.25 22=22 23=19"},
		{"now", "", "20=20.5 22=22 23=19 24=18"},
		{"now, in other words", "?as_of=2026-03-04T12:00:00Z", "20=20.5 22=22 23=19 24=18"},
		{"newest first", "?order=desc", "24=18 23=19 22=22 20=20.5"},
		{"newest first, as it was", "?order=desc&as_of=2026-03-03", "23=19 22=22 21=21.25 20=20.5"},
		{"from a day on", "?from=2026-02-23", "23=19 24=18"},
		{"from one day to another", "?from=2026-02-22&to=2026-02-23", "22=22 23=19"},
		{"the same, as it was", "?from=2026-02-21&to=2026-02-22&as_of=2026-03-03", "21=21.25 22=22"},
		{"between instants", "?from=2026-02-22T00:00:01Z&to=2026-02-24T00:00:00Z", "23=19 24=18"},
		{"nothing in that range", "?from=2026-03-01", ""},
		{"its own frequency", "?frequency=daily&to=2026-02-20", "20=20.5"},
		{"every version", "?vintages=all&from=2026-02-21&to=2026-02-22", "21=21 21=21.25 22=22"},
		{"every version that was known then", "?vintages=all&from=2026-02-21&as_of=2026-03-02", "21=21 22=22"},
	} {
		if got := values(t, s.get(crack+"/history"+c.query)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := values(t, s.get(only.URL+"/crack-spread-321/history"+c.query)); got != c.want {
			t.Errorf("%s, at the Signals API's own address: %q, want %q", c.name, got, c.want)
		}
	}
	rows := s.get(crack + "/history?vintages=all&to=2026-02-21")["data"].([]any)
	var known []string
	for _, r := range rows {
		r := r.(map[string]any)
		known = append(known, fmt.Sprint(r["value"], " from ", r["known_from"], " to ", r["known_to"], " vintage ", r["vintage"], " revised ", r["revised"]))
	}
	want := []string{
		"20.5 from 2026-03-02T11:00:00Z to <nil> vintage 1 revised false",
		"21 from 2026-03-02T11:00:00Z to 2026-03-03T11:00:00Z vintage 1 revised false",
		"21.25 from 2026-03-03T11:00:00Z to 2026-03-04T11:00:00Z vintage 2 revised true", // then it was withdrawn
	}
	if d := cmp.Diff(want, known); d != "" {
		t.Errorf("versions (-want +got):\n%s", d)
	}
}

func TestSnapshotAsItWas(t *testing.T) {
	t.Parallel()
	s := told(t)
	for _, c := range []struct {
		asOf  string
		value float64
		at    string
	}{
		{"2026-03-02", 22, "2026-03-02T11:00:00Z"},
		{"2026-03-03T11:00:00Z", 19, "2026-03-03T11:00:00Z"},
		{"2026-03-04T12:00:00Z", 18, "2026-03-04T11:00:00Z"},
	} {
		got := s.get(crack + "?as_of=" + c.asOf)
		checkFields(t, got, snapshotFields)
		if got["value"] != c.value || got["as_of"] != c.at {
			t.Errorf("as of %s: %v of %v, want %v of %s", c.asOf, got["value"], got["as_of"], c.value, c.at)
		}
	}
	now, then := s.ask(http.MethodGet, crack), s.ask(http.MethodGet, crack+"?as_of=2026-03-04T11:30:00Z")
	if d := cmp.Diff(string(now.body), string(then.body)); d != "" || now.Header.Get("ETag") != then.Header.Get("ETag") {
		t.Errorf("as of an hour after the newest computation (-served +as of):\n%s", d)
	}
	a := s.ask(http.MethodGet, crack+"?as_of=2026-03-02T10:59:59Z")
	if a.StatusCode != http.StatusNotFound || s.object(a)["code"] != "not_found" {
		t.Errorf("when nothing was known: %s, %s", a.Status, a.body)
	}
	// The status as of then: on 2 March the observation of 22 February was more than five days old.
	if got := s.get(crack + "?as_of=2026-03-02")["status"]; got != "decayed" {
		t.Errorf("status of a stale value: %v", got)
	}
}

func TestHistoryInThreeFormats(t *testing.T) {
	t.Parallel()
	s := told(t)
	for _, query := range []string{"", "&as_of=2026-03-03", "&vintages=all", "&order=desc", "&order=desc&as_of=2026-03-03", "&limit=2", "&from=2026-03-01"} {
		var want [][]string
		for _, row := range s.get(crack + "/history?format=json" + query)["data"].([]any) {
			want = append(want, cells(row.(map[string]any)))
		}
		lines := s.ask(http.MethodGet, crack+"/history?format=ndjson"+query)
		if got := lines.Header.Get("Content-Type"); got != "application/x-ndjson" {
			t.Errorf("%s: NDJSON is sent as %s", query, got)
		}
		var got [][]string
		for line := range bytes.Lines(lines.body) {
			var row map[string]any
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			got = append(got, cells(row))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: NDJSON (-json +ndjson):\n%s", query, d)
		}
		sheet := s.ask(http.MethodGet, crack+"/history?format=csv"+query)
		if got := sheet.Header.Get("Content-Type"); got != "text/csv" ||
			sheet.Header.Get("Content-Disposition") != `attachment; filename="crack-spread-321.csv"` {
			t.Errorf("%s: CSV is sent as %s, %s", query, got, sheet.Header.Get("Content-Disposition"))
		}
		if n := bytes.Count(sheet.body, []byte("\n")); n != bytes.Count(sheet.body, []byte("\r\n")) || n != len(want)+1 {
			t.Errorf("%s: %d lines do not all end as RFC 4180 says, or are not a header and %d rows", query, n, len(want))
		}
		table, err := csv.NewReader(bytes.NewReader(sheet.body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		head := "observed_at ingested_at value uncertainty_lo uncertainty_hi baseline_value delta_vs_baseline_pct z_score vintage revised"
		if strings.Contains(query, "vintages") {
			head += " known_from known_to"
		}
		head += " published_at published_at_assumed bounds basis"
		if got := strings.Join(table[0], " "); got != head {
			t.Errorf("%s: header %q, want %q", query, got, head)
		}
		if d := cmp.Diff(want, table[1:], cmp.Transformer("nil", func(t [][]string) [][]string { return slices.Clip(append([][]string{}, t...)) })); d != "" {
			t.Errorf("%s: CSV (-json +csv):\n%s", query, d)
		}
	}
}

// The history as of an instant says of its intervals what the snapshot of that instant says, from memory and from the database.
func TestAHistorySaysOfItsIntervalsWhatItsSnapshotSays(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	before := full()
	point := estimate(0, 20.5)
	before.At, before.CoversFrom, before.ObservedAt, before.KnownAt = noon.Add(-49*time.Hour), new(point.ObservedAt.Time()), new(point.ObservedAt.Time()), new(point.KnownAt.Time())
	before.Uncertainty = nil // too few cases yet
	if err := s.worker.SaveSnapshot(t.Context(), task.Fence{}, before, []signals.Estimate{point}); err != nil {
		t.Fatal(err)
	}
	s.say(noon.Add(-time.Hour), point, estimate(4, 18))
	s.eventually("the newest to be served", func() bool { return s.get(crack)["value"] == 18.0 })
	for asOf, want := range map[string]string{"": "measured", "as_of=2026-03-02T11:00:00Z": "assumed", "as_of=2026-03-04T12:00:00Z": "measured"} {
		of := s.get(crack + "?" + asOf)["uncertainty"].(map[string]any)
		list := s.get(crack + "/history?" + asOf)
		row := list["data"].([]any)[0].(map[string]any)
		if of["basis"] != want || list["uncertainty_basis"] != want || row["basis"] != want || row["bounds"] != of["bounds"] || list["uncertainty_bounds"] != of["bounds"] {
			t.Errorf("%q: the snapshot says %v, the list %v, its row %v; want %s", asOf, of["basis"], list["uncertainty_basis"], row["basis"], want)
		}
		for _, versions := range []string{"", "&vintages=all"} {
			if sheet := s.ask(http.MethodGet, crack+"/history?format=csv&"+asOf+versions); bytes.Count(sheet.body, []byte(",next_first_print,"+want+"\r\n")) != len(list["data"].([]any)) {
				t.Errorf("%q%s: %s", asOf, versions, sheet.body)
			}
		}
	}
}

// cells returns a row's members in the order of the columns, with null as an empty text.
func cells(row map[string]any) []string {
	var out []string
	for _, c := range []string{
		"observed_at", "ingested_at", "value", "uncertainty_lo", "uncertainty_hi", "baseline_value", "delta_vs_baseline_pct", "z_score",
		"vintage", "revised", "known_from", "known_to", "published_at", "published_at_assumed", "bounds", "basis",
	} {
		v, there := row[c]
		switch {
		case !there:
		case v == nil:
			out = append(out, "")
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	return out
}

// TestMemoryAndDatabaseSayTheSame compares the current history from memory with the history as of now from the database. It uses numbers
// that two programs could write differently.
func TestMemoryAndDatabaseSayTheSame(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	var track []signals.Estimate
	for i, v := range []float64{1e15, 999999999999999.9, 1e-4, 9.999e-5, -1e-300, 5e-324, 1.7976931348623157e308, 123456.789, 0.1 + 0.2, math.Copysign(0, -1), 1e21, 100} {
		e := estimate(i-20, v)
		e.Lo, e.Hi = -v, math.NaN()
		track = append(track, e)
	}
	s.say(noon.Add(-time.Hour), track...)
	s.eventually("it to be served", func() bool { return s.get(crack)["value"] == 100.0 })
	for _, format := range []string{"csv", "ndjson"} {
		memory := s.ask(http.MethodGet, crack+"/history?format="+format)
		stored := s.ask(http.MethodGet, crack+"/history?as_of=2026-03-04T12:00:00Z&format="+format)
		if d := cmp.Diff(string(memory.body), string(stored.body)); d != "" || len(memory.body) < 500 {
			t.Errorf("%s (-memory +database):\n%s", format, d)
		}
	}
}

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	s := told(t)
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"?limit=3", []string{"20=20.5 22=22 23=19", "24=18"}},
		{"?limit=2", []string{"20=20.5 22=22", "23=19 24=18"}},
		{"?limit=4", []string{"20=20.5 22=22 23=19 24=18"}},
		{"?limit=3&order=desc", []string{"24=18 23=19 22=22", "20=20.5"}},
		{"?limit=3&order=desc&as_of=2026-03-03", []string{"23=19 22=22 21=21.25", "20=20.5"}},
		{"?limit=1&from=2026-02-21&to=2026-02-22&as_of=2026-03-03", []string{"21=21.25", "22=22"}},
		{"?limit=2&vintages=all&to=2026-02-23", []string{"20=20.5 21=21", "21=21.25 22=22", "23=19"}},
		{"?limit=2&vintages=all&to=2026-02-22&order=desc", []string{"22=22 21=21.25", "21=21 20=20.5"}},
	} {
		var got []string
		for address := crack + "/history" + c.query; address != "" && len(got) < 9; {
			a := s.ask(http.MethodGet, address)
			body := s.object(a)
			got = append(got, values(t, body))
			page := body["pagination"].(map[string]any)
			link := a.Header.Get("Link")
			warnings := body["meta"].(map[string]any)["warnings"].([]any)
			more := page["has_more"].(bool)
			if more != (page["next_cursor"] != nil) || more != (link != "") || more != (len(warnings) > 0) {
				t.Errorf("%s: it does not say with one voice whether there is more: %v, Link %q, %v", address, page, link, warnings)
			}
			address, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, d)
		}
	}
	// A cursor stays valid while points are added before and after it.
	first := s.get(crack + "/history?limit=2")["pagination"].(map[string]any)["next_cursor"].(string)
	s.say(noon.Add(-time.Minute), estimate(-1, 30), estimate(0, 20.5), estimate(2, 22), estimate(3, 19), estimate(4, 18), estimate(5, 17))
	s.eventually("the new points", func() bool { return s.get(crack)["value"] == 17.0 })
	if got, want := values(t, s.get(crack+"/history?limit=2&cursor="+first)), "23=19 24=18"; got != want {
		t.Errorf("the second page after points were added: %q, want %q", got, want)
	}
	if got, want := values(t, s.get(crack+"/history?cursor="+first)), "23=19 24=18 25=17"; got != want {
		t.Errorf("all from the cursor on: %q, want %q", got, want)
	}
}

func TestVintagesListTheChanges(t *testing.T) {
	t.Parallel()
	s := told(t)
	row := func(at string, added, revised, withdrawn int) any {
		return map[string]any{"known_at": at, "added": float64(added), "revised": float64(revised), "withdrawn": float64(withdrawn)}
	}
	all := []any{row("2026-03-04T11:00:00Z", 1, 0, 1), row("2026-03-03T11:00:00Z", 1, 1, 0), row("2026-03-02T11:00:00Z", 3, 0, 0)}
	got := s.get(crack + "/vintages")
	if d := cmp.Diff(all, got["data"]); d != "" {
		t.Errorf("newest first (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]any{"limit": 50.0, "next_cursor": nil, "has_more": false}, got["pagination"]); d != "" {
		t.Errorf("pagination (-want +got):\n%s", d)
	}
	a := s.ask(http.MethodGet, crack+"/vintages?limit=2&order=asc")
	if d := cmp.Diff([]any{all[2], all[1]}, s.object(a)["data"]); d != "" {
		t.Errorf("the first page, oldest first (-want +got):\n%s", d)
	}
	next, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
	if d := cmp.Diff([]any{all[0]}, s.get(next)["data"]); d != "" {
		t.Errorf("the second page (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]any{all[1]}, s.get(crack + "/vintages?from=2026-03-03&to=2026-03-03")["data"]); d != "" {
		t.Errorf("of one day (-want +got):\n%s", d)
	}
	if got := s.get("/api/signals/lng-arbitrage/vintages"); len(got["data"].([]any)) != 0 {
		t.Errorf("of a signal that never spoke: %v", got)
	}
}

func TestMemoryFollowsTheHistory(t *testing.T) {
	t.Parallel()
	s := told(t)
	same := func(what string) {
		t.Helper()
		s.eventually(what, func() bool {
			stored := s.ask(http.MethodGet, crack+"/history?as_of="+s.clock.Load().Format(time.RFC3339)+"&format=csv")
			return stored.StatusCode == http.StatusOK && bytes.Equal(stored.body, s.ask(http.MethodGet, crack+"/history?format=csv").body)
		})
	}
	same("the first loads")
	s.say(noon.Add(-30*time.Minute), estimate(-3, 1), estimate(0, 20.5), estimate(1, 3), estimate(4, 18.5))
	same("points before, between, changed and gone")
	s.say(noon.Add(-30*time.Hour), estimate(0, 20.5), estimate(1, 7))
	same("a day computed late, which changes only how often a value was revised")
	s.say(noon.Add(time.Hour), estimate(0, 20.5), estimate(6, 1), estimate(9, 2))
	s.say(noon.Add(-10*time.Minute), estimate(0, 20.5), estimate(5, 5))
	same("a day ahead of its time, stored before one that has come")
	s.clock.Store(new(noon.Add(time.Hour)))
	s.eventually("it to come into its time", func() bool { return s.get(crack)["value"] == 2.0 })
	same("the day whose time has come")
}
