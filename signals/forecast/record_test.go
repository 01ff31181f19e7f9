package forecast

import (
	"strings"
	"testing"
	"time"
)

func TestTheLineOfAForecastIsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	r := Record{
		ID: "a", Signal: "s", Figure: "f", Period: "2026-05-08", IssuedAt: time.Date(2026, 5, 6, 21, 5, 0, 0, time.UTC),
		Quantiles: []Decimal{"-1.0", "0.0"}, Naive1: []Decimal{"0.0", "0.0"}, Naive2: []Decimal{"0.0", "0.0"},
		ModelVersion: "f1", InputsHash: "00", PreviousHash: "00",
	}
	if want := "a|s|f/2026-05-08|2026-05-06T21:05:00Z|-1.0;0.0|0.0;0.0|0.0;0.0|f1|00|00"; r.Line() != want {
		t.Errorf("the line is %q, want %q", r.Line(), want)
	}
	// printf '%s' 'a|s|t|2026-05-06T21:05:00Z|-1.0;0.0|0.0;0.0|0.0;0.0|f1|00|00' | sha256sum
	line := strings.Replace(r.Line(), "f/2026-05-08", "t", 1)
	if got := hashOf(line); got != "179f3190624a4b01a2dfa952b1d5c32c4b0aa55ca7a804cde17fbb09323c126c" {
		t.Errorf("the hash of %s is %s", line, got)
	}
}

func TestAGradeIsOfTheRecordedTexts(t *testing.T) {
	t.Parallel()
	_, text := oneTo23()
	g, err := NewGrade(Record{ID: "a", Quantiles: text, Naive1: text, Naive2: text}, "10.5", time.Date(2026, 5, 13, 14, 30, 0, 0, time.UTC), nil)
	if err != nil {
		t.Fatal(err)
	}
	g.PreviousHash = NoRecord
	if want := "a|10.5|2026-05-13T14:30:00Z|1.7802|1.7802|1.7802||" + NoRecord; g.Line() != want {
		t.Errorf("the line is %q, want %q", g.Line(), want)
	}
	if _, err := NewGrade(Record{ID: "a", Quantiles: text[1:], Naive1: text, Naive2: text}, "10.5", time.Time{}, nil); err == nil {
		t.Error("a forecast of 22 quantiles was graded")
	}
}
