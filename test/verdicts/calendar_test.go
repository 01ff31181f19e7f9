package verdicts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/calendar"
)

// The three verifiers have a calendar each. They are listed as all trading days from 1990 to 2100, and as what New York's clocks show at
// instants on both sides of its changes between summer and winter.
const (
	pageCalendar = `
const { tradingDays, inNewYork } = await import(process.argv.at(-2));
const dayLength = 86400000, text = (day) => new Date(day * dayLength).toISOString().slice(0, 10);
const instants = JSON.parse(process.argv.at(-1)).map((at) => inNewYork(Date.parse(at)));
console.log(JSON.stringify({
  Days: tradingDays(Date.parse("1980-01-01") / dayLength, Date.parse("2110-01-01") / dayLength).map(text),
  Clocks: instants.map(({ day, minute }) => text(day) + " " + String(Math.floor(minute / 60)).padStart(2, "0") + ":" + String(minute % 60).padStart(2, "0")),
}));
`
	pythonCalendar = `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from datetime import date
import verify
print(json.dumps({
    "Days": [str(day) for day in verify.trading_days(date(1980, 1, 1), date(2110, 1, 1))],
    "Clocks": [f"{verify.new_york(verify.instant(at)):%Y-%m-%d %H:%M}" for at in json.loads(sys.argv[2])],
}))
`
)

type calendars struct {
	Days, Clocks []string
}

func TestThreeVerifiersHaveOneCalendar(t *testing.T) {
	t.Parallel()
	var want calendars
	for _, day := range calendar.Between(time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2110, 1, 1, 0, 0, 0, 0, time.UTC)) {
		want.Days = append(want.Days, day.Format(time.DateOnly))
	}
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	var instants []time.Time
	for at := time.Date(2010, 1, 1, 4, 59, 0, 0, time.UTC); at.Year() < 2036; at = at.Add(61 * time.Minute) {
		// The days around a change are seen each hour, and one instant of most other months.
		_, before := at.In(zone).Zone()
		if _, after := at.Add(30 * time.Hour).In(zone).Zone(); before != after || at.Day() == 1 && at.Hour() == 5 {
			instants = append(instants, at)
			want.Clocks = append(want.Clocks, at.In(zone).Format("2006-01-02 15:04"))
		}
	}
	asked, err := json.Marshal(instants)
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../api/pages/static/verdict.js")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "verdict.mjs")
	if err := os.WriteFile(page, script, 0o600); err != nil {
		t.Fatal(err)
	}
	for program, args := range map[string][]string{
		"node":    {"--input-type=module", "--eval", pageCalendar, "--", page, string(asked)},
		"python3": {"-c", pythonCalendar, "../../examples/python", string(asked)},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is not installed, so its calendar was not compared", program)
			}
			out, err := exec.CommandContext(t.Context(), program, args...).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var got calendars
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the Go verifier's calendar (-) and this one (+) differ:\n%.2000s", diff)
			}
		})
	}
}
