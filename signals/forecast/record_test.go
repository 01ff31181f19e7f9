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

// publishedUntil is the clock of who reads the list of published.
var publishedUntil = time.Date(2026, 5, 28, 0, 0, 0, 0, time.UTC)

// published returns three forecasts in the form of a server's response. Two of them are graded.
func published(t *testing.T) []Published {
	t.Helper()
	_, text := oneTo23()
	var out []Published
	previous, grade := NoRecord, NoRecord
	for i, period := range []string{"2026-05-08", "2026-05-15", "2026-05-22"} {
		r := Record{
			ID: "eia-weekly-petroleum/crude_stocks_change/" + period, Signal: "eia-weekly-petroleum", Figure: "crude_stocks_change", Period: period, IssuedAt: time.Date(2026, 5, 6+7*i, 21, 5, 0, 0, time.UTC),
			Quantiles: text, Naive1: text, Naive2: text, ModelVersion: "f1", InputsHash: NoRecord, PreviousHash: previous,
		}
		previous = r.Hash()
		p := Published{Line: r.Line(), Hash: r.Hash()}
		if i < 2 {
			g, err := NewGrade(r, "10.5", r.IssuedAt.AddDate(0, 0, 7), nil)
			if err != nil {
				t.Fatal(err)
			}
			g.PreviousHash = grade
			grade = g.Hash()
			p.GradeLine, p.GradeHash = g.Line(), g.Hash()
		}
		out = append(out, p)
	}
	return out
}

func TestALieInThePublishedListIsFound(t *testing.T) {
	t.Parallel()
	if records, graded, faults := Check(published(t), publishedUntil); len(faults) != 0 || len(records) != 3 || len(graded) != 2 {
		t.Fatalf("%d forecasts, %d grades, faults %q", len(records), len(graded), faults)
	}
	rehash := func(p *Published) { p.Hash = hashOf(p.Line) }
	regrade := func(p *Published) { p.GradeHash = hashOf(p.GradeLine) }
	for lie, change := range map[string]func(list []Published) []Published{
		"a quantile": func(l []Published) []Published { l[1].Line = strings.Replace(l[1].Line, ";7.0;", ";7.5;", 1); return l },
		"a quantile, hashed again": func(l []Published) []Published {
			l[1].Line = strings.Replace(l[1].Line, ";7.0;", ";7.5;", 1)
			rehash(&l[1])
			return l
		},
		"the newest, hashed again": func(l []Published) []Published {
			l[1].GradeLine = strings.Replace(l[1].GradeLine, "10.5", "11.5", 1)
			regrade(&l[1])
			return l
		},
		"one is left out":       func(l []Published) []Published { return append(l[:1], l[2]) },
		"the first is left out": func(l []Published) []Published { return l[1:] },
		"two are turned round":  func(l []Published) []Published { l[0], l[1] = l[1], l[0]; return l },
		"a grade is left out":   func(l []Published) []Published { l[0].GradeLine, l[0].GradeHash = "", ""; return l },
		"a grade of another": func(l []Published) []Published {
			l[0].GradeLine, l[0].GradeHash = l[1].GradeLine, l[1].GradeHash
			return l
		},
		"a score that is too good": func(l []Published) []Published {
			l[1].GradeLine = strings.Replace(l[1].GradeLine, "1.7802", "1.2", 1)
			regrade(&l[1])
			return l
		},
		"issued after the print": func(l []Published) []Published {
			l[1].Line = strings.Replace(l[1].Line, "2026-05-13", "2026-05-21", 1)
			rehash(&l[1])
			return l
		},
		"issued before the one before it": func(l []Published) []Published {
			l[2].Line = strings.Replace(l[2].Line, "2026-05-20T21:05:00Z", "2026-05-01T21:05:00Z", 1)
			rehash(&l[2])
			return l
		},
		"issued when its print was due": func(l []Published) []Published {
			l[2].Line = strings.Replace(l[2].Line, "2026-05-20T21:05:00Z", "2026-05-27T14:30:00Z", 1)
			rehash(&l[2])
			return l
		},
		"a week that ends on a Saturday": func(l []Published) []Published {
			l[2].Line = strings.ReplaceAll(l[2].Line, "2026-05-22", "2026-05-23")
			rehash(&l[2])
			return l
		},
		"given up before its time": func(l []Published) []Published {
			before := l[1].GradeLine[strings.LastIndex(l[1].GradeLine, "|")+1:]
			l[1].GradeLine = "eia-weekly-petroleum/crude_stocks_change/2026-05-15||2026-06-19T14:29:59Z||||void|" + before
			regrade(&l[1])
			return l
		},
		"quantiles that do not ascend": func(l []Published) []Published {
			l[1].Line = strings.Replace(l[1].Line, "1.0;2.0", "2.0;1.0", 1)
			rehash(&l[1])
			return l
		},
		"no number": func(l []Published) []Published { l[1].Line = strings.Replace(l[1].Line, "2.0", "NaN", 1); return l },
		"an outcome beyond all numbers": func(l []Published) []Published {
			l[1].GradeLine = strings.Replace(l[1].GradeLine, "10.5", "1e30", 1)
			regrade(&l[1])
			return l
		},
		"a huge outcome": func(l []Published) []Published {
			l[1].GradeLine = strings.Replace(l[1].GradeLine, "10.5", "1"+strings.Repeat("0", 400)+".5", 1)
			regrade(&l[1])
			return l
		},
		"too many decimals": func(l []Published) []Published {
			l[1].Line = strings.Replace(l[1].Line, ";7.0;", ";7.00;", 1)
			rehash(&l[1])
			return l
		},
		"a figure that nobody knows": func(l []Published) []Published {
			l[2].Line = strings.ReplaceAll(l[2].Line, "crude_stocks_change", "other")
			rehash(&l[2])
			return l
		},
		"the same forecast twice": func(l []Published) []Published { return append(l, l[2]) },
		"an unknown flag": func(l []Published) []Published {
			l[1].GradeLine = strings.Replace(l[1].GradeLine, "||", "|good|", 1)
			regrade(&l[1])
			return l
		},
		"no hash of inputs": func(l []Published) []Published {
			l[2].Line = strings.Replace(l[2].Line, "|f1|"+NoRecord, "|f1|none", 1)
			rehash(&l[2])
			return l
		},
		"nothing": func(l []Published) []Published { l[1].Line = ""; return l },
	} {
		if _, _, faults := Check(change(published(t)), publishedUntil); len(faults) == 0 {
			t.Errorf("%s: nothing was found", lie)
		}
	}
}
