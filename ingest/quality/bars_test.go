package quality_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest/quality"
	"tidemark/internal/equity"
)

func TestBarsThatCannotBeTrueAreNotStored(t *testing.T) {
	t.Parallel()
	// A week of July 2026, without its weekend; the 3rd is a Friday on which the exchange is closed.
	days := []string{"2026-06-29", "2026-06-30", "2026-07-01", "2026-07-02", "2026-07-06"}
	at := func(n int) time.Time {
		d, err := time.Parse(time.DateOnly, days[n])
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	// closes returns the bars of successive days from the n-th on; empty is a day without a bar.
	closes := func(n int, text string) []equity.Bar {
		var list []equity.Bar
		for i, c := range strings.Split(text, " ") {
			if c != "-" {
				list = append(list, equity.Bar{CIK: 7, Date: at(n + i), Close: equity.Price(c), Source: "p"})
			}
		}
		return list
	}
	split := equity.Action{CIK: 7, Kind: equity.Split, Date: at(3), New: 4, Old: 1, Source: "p"}
	spin := equity.Action{CIK: 7, Kind: equity.Dividend, Date: at(3), Cash: "150.00", Source: "p"}
	for _, c := range []struct {
		fact        string
		known, said []equity.Bar
		actions     []equity.Action
		want, found string
	}{
		{"a quiet week", nil, closes(0, "200.00 201.00 199.00 202.00 203.00"), nil, "200.00 201.00 199.00 202.00 203.00", ""},
		{"a fall by half is possible", nil, closes(0, "200.00 201.00 199.00 99.00 98.00"), nil, "200.00 201.00 199.00 99.00 98.00", ""},
		{"a split explains a jump", nil, closes(0, "200.00 201.00 199.00 50.50 50.75"), []equity.Action{split}, "200.00 201.00 199.00 50.50 50.75", ""},
		{"so does what was handed out", nil, closes(0, "200.00 201.00 199.00 50.50 50.75"), []equity.Action{spin}, "200.00 201.00 199.00 50.50 50.75", ""},
		{
			"a slipped decimal point between two days", nil, closes(0, "200.00 201.00 1990.00 202.00 203.00"), nil, "200.00 201.00 202.00 203.00",
			"error jump a close of 1990.00 after 201.00",
		},
		{
			"one on the newest day waits", closes(0, "200.00 201.00"), closes(1, "201.00 199.00 20.20"), nil, "201.00 199.00",
			"error jump a close of 20.20 after 199.00, warn gaps no bar of 1 of 4",
		},
		{
			"until another day confirms it", closes(0, "200.00 201.00 199.00"), closes(1, "201.00 199.00 20.20 21.00"), nil, "201.00 199.00 20.20 21.00",
			"warn jump a close of 20.20 after 199.00",
		},
		{"after which nobody speaks of it", closes(0, "200.00 201.00 199.00 20.20 21.00"), closes(1, "201.00 199.00 20.20 21.00"), nil, "201.00 199.00 20.20 21.00", ""},
		{"a jump from what is known, by an answer that begins later", closes(0, "200.00 201.00"), closes(2, "19.90"), nil, "", "error jump a close of 19.90 after 201.00, warn gaps no bar of 2 of 3"},
		{"a correction is possible", closes(0, "200.00 201.00"), closes(0, "200.00 205.00 206.00 207.00 208.00"), nil, "200.00 205.00 206.00 207.00 208.00", ""},
		{
			"a history of other shares", closes(0, "200.00 201.00 199.00"), closes(1, "50.25 49.75 50.50 50.75"), nil, "",
			"error revision a close of 50.25 where 201.00 is known",
		},
		{"days without a bar", nil, closes(0, "200.00 - 199.00 - 203.00"), nil, "200.00 199.00 203.00", "warn gaps no bar of 2 of 5"},
		{"are told once", closes(0, "200.00 - 199.00"), closes(0, "200.00 - 199.00 202.00 203.00"), nil, "200.00 199.00 202.00 203.00", ""},
		{"nothing at all", closes(0, "200.00"), nil, nil, "", "warn gaps no bar of 4 of 5"},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			a := quality.Traded{CIK: 7, Bars: c.said, Actions: c.actions, Known: c.known}
			for n := range days {
				if len(c.said) == 0 || !at(n).Before(c.said[0].Date) {
					a.Sessions = append(a.Sessions, at(n))
				}
			}
			good, found := quality.CheckBars(a)
			var got []string
			for _, b := range good {
				got = append(got, string(b.Close))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			var said []string
			for _, f := range found {
				said = append(said, string(f.Severity)+" "+f.Check+" "+f.Observed)
				if f.Series != "equity.0000000007.close" {
					t.Errorf("a finding about %q", f.Series)
				}
			}
			text := strings.Join(said, ", ")
			if i := strings.Index(text, "trading days"); i >= 0 {
				text = strings.TrimSpace(text[:i])
			}
			if text != c.found {
				t.Errorf("found %q, want %q", text, c.found)
			}
		})
	}
}
