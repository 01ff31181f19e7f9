package portwatch_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"tidemark/ingest/portwatch"
	"tidemark/internal/series"
)

// recorded is the folder of tables saved by others, if the recorded upstream data are next to the repository.
const recorded = "../../../shared/upstream/portwatch"

func readRecorded(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(recorded, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded days at ../shared/upstream/portwatch, beside the repository: nothing to check against")
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// serve answers queries of a layer of features, each an object of attributes, as the service does.
func serve(t *testing.T, features []map[string]any) service {
	return func(address string) *httptest.ResponseRecorder {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		var answer any = map[string]int{"count": len(features)}
		if q.Get("returnCountOnly") != "true" {
			offset, err := strconv.Atoi(q.Get("resultOffset"))
			if err != nil {
				t.Fatal(err)
			}
			end := min(offset+1000, len(features))
			page := []any{}
			for _, f := range features[offset:end] {
				page = append(page, map[string]any{"attributes": f})
			}
			answer = map[string]any{"features": page, "exceededTransferLimit": end < len(features)}
		}
		body, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
		return w
	}
}

// recordedTable is the layer as it was on 2026-07-06: 2,736 days of all attributes.
func recordedTable(t *testing.T) []map[string]any {
	t.Helper()
	file, err := os.Open(filepath.Join(recorded, "hormuz_daily_chokepoint_2026-07-06.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded days at ../shared/upstream/portwatch, beside the repository: nothing to check against")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var features []map[string]any
	for n, line := range lines[1:] {
		f := map[string]any{"ObjectId": n + 1}
		for i, name := range lines[0] {
			f[name] = line[i]
			if number, err := strconv.ParseFloat(line[i], 64); err == nil && name != "date" {
				f[name] = number
			}
		}
		features = append(features, f)
	}
	return features
}

// recordedPoll is the layer as a client saw it in April: the newest 365 days, in its own form. It did not keep the tankers'
// capacity, which is unknown.
func recordedPoll(t *testing.T, name string) []map[string]any {
	t.Helper()
	var poll struct {
		Days []struct {
			Date                                                            string
			Total, Tanker, Container, DryBulk, GeneralCargo, Roro, Capacity float64
		} `json:"days"`
	}
	if err := json.Unmarshal(readRecorded(t, name), &poll); err != nil {
		t.Fatal(err)
	}
	var features []map[string]any
	for i := range poll.Days {
		d := poll.Days[len(poll.Days)-1-i] // they were newest first
		features = append(features, map[string]any{
			"date": d.Date, "portid": "chokepoint6", "n_total": d.Total, "n_tanker": d.Tanker, "n_container": d.Container,
			"n_dry_bulk": d.DryBulk, "n_general_cargo": d.GeneralCargo, "n_roro": d.Roro, "capacity": d.Capacity, "capacity_tanker": nil,
		})
	}
	return features
}

const (
	total  series.ID = "portwatch.chokepoint6.n_total"
	tanker series.ID = "portwatch.chokepoint6.n_tanker"
)

func TestRecordedDays(t *testing.T) {
	t.Parallel()
	all, asked, err := collect(t, serve(t, recordedTable(t)), time.Date(2026, 7, 6, 23, 0, 0, 0, time.UTC))
	if err != nil || asked != 4 {
		t.Fatalf("%d questions, want the number and 3 pages: %v", asked, err)
	}
	for _, s := range portwatch.Source().Series {
		if n := len(all[s.ID]); n != 2736 {
			t.Errorf("%d days of %s, want 2,736", n, s.ID)
		}
	}
	for _, tc := range []struct {
		id   series.ID
		day  string
		want float64
	}{
		{total, "2026-06-28", 27},
		{tanker, "2026-06-28", 12},
		{"portwatch.chokepoint6.n_container", "2026-06-28", 9},
		{"portwatch.chokepoint6.n_dry_bulk", "2026-06-28", 3},
		{"portwatch.chokepoint6.n_general_cargo", "2026-06-28", 3},
		{"portwatch.chokepoint6.n_roro", "2026-06-28", 0},
		{"portwatch.chokepoint6.capacity_tanker", "2026-06-28", 299272},
		{"portwatch.chokepoint6.capacity", "2026-06-28", 622630},
		{total, "2019-01-01", 66},
		{tanker, "2019-01-01", 42},
	} {
		if got, ok := all[tc.id][tc.day]; !ok || got != tc.want {
			t.Errorf("%s of %s is %v (present: %t), want %v", tc.id, tc.day, got, ok, tc.want)
		}
	}
	// Seven-day means, from another program over the same table.
	for _, tc := range []struct {
		id   series.ID
		end  string
		want float64
	}{
		{total, "2025-06-28", 83.4286},
		{total, "2026-02-27", 105.7143},
		{total, "2026-03-15", 2},
		{total, "2026-06-28", 32.5714},
		{tanker, "2026-06-28", 14.2857},
	} {
		end, err := time.Parse(time.DateOnly, tc.end)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i := range 7 {
			sum += all[tc.id][end.AddDate(0, 0, -i).Format(time.DateOnly)]
		}
		if math.Abs(sum/7-tc.want) > 0.00005 {
			t.Errorf("the mean of %s over the week to %s is %.4f, want %.4f", tc.id, tc.end, sum/7, tc.want)
		}
	}
	zeros := 0
	for _, day := range []string{"2026-03-13", "2026-03-14", "2026-04-27"} {
		if v, ok := all[total][day]; ok && v == 0 {
			zeros++
		}
	}
	if zeros != 3 {
		t.Errorf("%d of the three days without a ship were read as such", zeros)
	}
}

// The history is estimated again: of the 365 days that a poll in April has in common with the table of July, about 350 differ.
func TestRecordedVintages(t *testing.T) {
	t.Parallel()
	july, _, err := collect(t, serve(t, recordedTable(t)), time.Date(2026, 7, 6, 23, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ file, newest string }{
		{"polls/2026-04-09T17-07-49Z.json", "2026-04-05"},
		{"polls/2026-04-21T13-36-09Z.json", "2026-04-19"},
	} {
		april, _, err := collect(t, serve(t, recordedPoll(t, tc.file)), time.Date(2026, 4, 21, 23, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatalf("%s: %v", tc.file, err)
		}
		if n, newest := len(april[total]), maxKey(april[total]); n != 365 || newest != tc.newest {
			t.Errorf("%s: %d days to %s, want 365 to %s", tc.file, n, newest, tc.newest)
		}
		if n := len(april["portwatch.chokepoint6.capacity_tanker"]); n != 0 {
			t.Errorf("%s: %d values of a column of nulls", tc.file, n)
		}
		differ := 0
		for day, v := range april[total] {
			was, ok := july[total][day]
			if !ok {
				t.Errorf("%s: %s is not in the table of July", tc.file, day)
			}
			if was != v {
				differ++
			}
		}
		if differ < 340 {
			t.Errorf("%s: %d of 365 days differ from the table of July, want about 350", tc.file, differ)
		}
		t.Logf("%s: %d of 365 days differ", tc.file, differ)
	}
	if _, _, err := collect(t, serve(t, recordedPoll(t, "polls/2026-04-28T13-38-12Z-empty.json")), time.Time{}); err == nil {
		t.Error("the empty layer of 28 April was taken for one")
	}
}

func maxKey(h history) string {
	newest := ""
	for day := range h {
		newest = max(newest, day)
	}
	return newest
}
