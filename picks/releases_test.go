package picks

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/series"
)

// The ECB's decisions from the summer of 2022 to the summer of 2025: from below zero to four percent and half of the way back.
func TestDecisionsOfTheECB(t *testing.T) {
	t.Parallel()
	def := indicator("ecb")
	meetings := []string{
		"2022-02-03", "2022-03-10", "2022-04-14", "2022-06-09", "2022-07-21", "2022-09-08", "2022-10-27", "2022-12-15", "2023-02-02", "2023-03-16",
		"2023-05-04", "2023-06-15", "2023-07-27", "2023-09-14", "2023-10-26", "2023-12-14", "2024-01-25", "2024-03-07", "2024-04-11", "2024-06-06",
		"2024-07-18", "2024-09-12", "2024-10-17", "2024-12-12", "2025-01-30", "2025-03-06", "2025-04-17", "2025-06-05", "2025-07-24",
	}
	rates := []float64{
		-0.5, -0.5, -0.5, -0.5, 0, 0.75, 1.5, 2, 2.5, 3, 3.25, 3.5, 3.75, 4, 4, 4, 4, 4, 4, 3.75, 3.75, 3.5, 3.25, 3, 2.75, 2.5, 2.25, 2, 2,
	}
	var obs []series.Observation
	for i, m := range meetings {
		obs = append(obs, series.Observation{Series: def.Series, ObservedAt: day(m), VintageAt: day(m).Add(12*time.Hour + 15*time.Minute), Value: rates[i]})
	}
	events := def.Events(obs)
	for _, c := range []struct {
		id, title string
		severity  Severity
	}{
		{"ez-ecb-2025-07-24", "The European Central Bank keeps its deposit rate at 2.00%", 1},
		{"ez-ecb-2025-06-05", "The European Central Bank cuts its deposit rate by 25 basis points, to 2.00%", 2},
		{"ez-ecb-2022-07-21", "The European Central Bank raises its deposit rate by 50 basis points, to 0.00%", 1}, // too few decisions before it
	} {
		i := slices.IndexFunc(events, func(e EconomicEvent) bool { return e.ID == c.id })
		if i < 0 {
			t.Errorf("no event %s", c.id)
			continue
		}
		text, err := events[i].Text(English)
		if err != nil || text.Title != c.title || events[i].Severity != c.severity {
			t.Errorf("%s: severity %d (z %v), %q, %v", c.id, events[i].Severity, events[i].Z, text.Title, err)
		}
		if strings.Contains(text.Analysis, "vote") {
			t.Errorf("%s tells of votes: %s", c.id, text.Analysis)
		}
	}
}

// The recorded weekly report states the stocks of two weeks and their difference, in millions of barrels; the series has thousands.
func TestCrudeStocksAreToldAsTheReportTellsThem(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../shared/upstream/eia/wpsr/table1-excerpt-2026-09-11.csv")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded weekly report at ../shared/upstream/eia/wpsr, beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	row := rows[slices.IndexFunc(rows, func(r []string) bool { return strings.HasPrefix(r[0], "Commercial") })]
	var stated [3]float64
	for i := range stated {
		if stated[i], err = strconv.ParseFloat(row[1+i], 64); err != nil {
			t.Fatal(err)
		}
	}
	def := indicator("crude-stocks")
	at := func(d string, v float64) series.Observation {
		return series.Observation{Series: def.Series, ObservedAt: day(d), VintageAt: day(d).Add(5*24*time.Hour + 870*time.Minute), Value: v}
	}
	events := def.Events([]series.Observation{at("2026-09-04", 1000*stated[1]), at("2026-09-11", 1000*stated[0])})
	e := events[len(events)-1]
	if e.ID != "us-crude-stocks-2026-09-11" || math.Abs(e.Print.Value-stated[2]) > 0.05 || e.Date() != day("2026-09-16") {
		t.Errorf("%s on %s: %v, the report states %v", e.ID, e.Date(), e.Print.Value, stated[2])
	}
	for lang, want := range map[Lang]string{
		English: "-0.6 million barrels in the week to September 11, 2026", "es": "-0,6 millones de barriles", "pt": "-0,6 milhão de barris",
		"hi": "-6 लाख बैरल",
	} {
		text, err := e.Text(lang)
		if err != nil || !strings.Contains(text.Title, want) {
			t.Errorf("%s: %q, want %q (%v)", lang, text.Title, want, err)
		}
	}
}

// A text by another writer may say million, and no other size.
func TestBarrelsAreCheckedAsMillions(t *testing.T) {
	t.Parallel()
	facts := Data{{ID: "actual", Value: "-3.4", Unit: locale.Barrels}}
	for text, good := range map[string]bool{
		"Stocks fell by 3.4 million barrels.": true, "Stocks fell by 3.4 billion barrels.": false, "Stocks fell by 3.4%.": false, "Stocks rose by 3.5 million barrels.": false,
	} {
		if err := CheckNumbers(text, English, facts); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
