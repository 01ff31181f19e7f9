package monitor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

func at(d time.Duration) string { return tlog.FormatTime(noon.Add(d)) }

// gapOf is a gap of a day, which is known at a time.
func gapOf(t *testing.T, day string, known time.Duration) []byte {
	t.Helper()
	return leafOf(t, tlog.KindGap, day, "no price", at(known))
}

func gradeOf(t *testing.T, seq, forecast int) []byte {
	t.Helper()
	return leafOf(t, tlog.KindGrade, fmt.Sprint(seq), forecastID(forecast), at(time.Hour), "1", "1", strings.Repeat("ab", 32), at(time.Hour))
}

func datasetOf(t *testing.T, day, hash string) []byte {
	t.Helper()
	return leafOf(t, tlog.KindDataset, day, at(0), strings.Repeat(hash, 32), "8", at(0))
}

func intervalOf(t *testing.T, value, lo, hi, level string) []byte {
	t.Helper()
	return leafOf(t, tlog.KindForecast, "1", forecastID(1), "2026-03-10T13:35:00.000000Z", value, lo, hi, level, "m-1", strings.Repeat("ab", 32), at(-time.Minute))
}

func TestALeafThatBreaksARuleIsEvidence(t *testing.T) {
	t.Parallel()
	forecast := func(t *testing.T) []byte {
		t.Helper()
		return forecastLeaf(t, 1, 1, noon.Add(-time.Minute))
	}
	for name, leaves := range map[string]func(t *testing.T) [][]byte{
		"two grades of a forecast": func(t *testing.T) [][]byte {
			t.Helper()
			return [][]byte{forecast(t), gradeOf(t, 1, 1), gradeOf(t, 2, 1)}
		},
		"a grade of no forecast": func(t *testing.T) [][]byte { t.Helper(); return [][]byte{forecast(t), gradeOf(t, 1, 7)} },
		"a forecast above its interval": func(t *testing.T) [][]byte {
			t.Helper()
			return [][]byte{intervalOf(t, "3", "1", "2", "0.8")}
		},
		"an interval that is turned": func(t *testing.T) [][]byte { t.Helper(); return [][]byte{intervalOf(t, "2", "3", "1", "0.8")} },
		"a level above one":          func(t *testing.T) [][]byte { t.Helper(); return [][]byte{intervalOf(t, "2", "1", "3", "7")} },
		"a time that falls": func(t *testing.T) [][]byte {
			t.Helper()
			return [][]byte{gapOf(t, "2026-03-03", 0), gapOf(t, "2026-03-02", -48*time.Hour)}
		},
		"a time to come": func(t *testing.T) [][]byte { t.Helper(); return [][]byte{gapOf(t, "2026-03-03", 300*24*time.Hour)} },
		"two gaps of a day": func(t *testing.T) [][]byte {
			t.Helper()
			return [][]byte{gapOf(t, "2026-03-03", 0), gapOf(t, "2026-03-03", 0)}
		},
		"a gap of a day with a pick": func(t *testing.T) [][]byte {
			t.Helper()
			return [][]byte{newSealedDay(t).pick(), gapOf(t, "2026-03-04", 0)}
		},
		"two data sets of a day": func(t *testing.T) [][]byte {
			t.Helper()
			return [][]byte{datasetOf(t, "2026-03-03", "ab"), datasetOf(t, "2026-03-03", "cd")}
		},
		"a correction of no pick": func(t *testing.T) [][]byte {
			t.Helper()
			return [][]byte{leafOf(t, tlog.KindCorrection, "99", "x", "y", "2026-03-04", at(0))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(t)
			m := l.monitor(t.TempDir(), "two")
			if kinds, all := found(t, m); len(kinds) > 0 {
				t.Fatalf("before: %+v", all)
			}
			l.grow(leaves(t)...)
			if kinds, all := found(t, m); !slices.Contains(kinds, KindRule) {
				t.Errorf("it finds %v: %+v", kinds, all)
			}
		})
	}
}

// Each of these leaves agrees with itself: only the schedule of releases shows the lie.
func TestAForecastWithAFalseReleaseIsNamed(t *testing.T) {
	t.Parallel()
	sunday := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	due := time.Date(2026, 3, 3, 13, 35, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		id          string
		release, at time.Time
		kind, says  string
	}{
		"recorded after the print, with a later release": {
			forecastID(0), due.AddDate(0, 0, 7), due.Add(time.Hour), KindRule, "due at 2026-03-10T13:35:00.000000Z, and by the schedule of releases it was at 2026-03-03T13:35:00.000000Z",
		},
		"one second off":      {forecastID(1), due.AddDate(0, 0, 7).Add(time.Second), noon, KindRule, "by the schedule of releases"},
		"earlier than it was": {forecastID(1), due.AddDate(0, 0, 6), noon, KindRule, "by the schedule of releases"},
		"of a week that ends on a Monday": {
			"hormuz-transit/ships_week/" + sunday.AddDate(0, 0, 8).Format(time.DateOnly), due.AddDate(0, 0, 8), noon, KindRule, "no print of that figure is",
		},
		"of a figure that nobody knows": {"a-signal/a-figure/2026-03-08", due.AddDate(0, 0, 7), noon, KindUnknown, "figures that this program does not know"},
		"the truth":                     {forecastID(1), due.AddDate(0, 0, 7), noon, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(t)
			m := l.monitor(t.TempDir(), "two")
			found(t, m)
			l.grow(forecastLeafOf(t, 1, c.id, c.release, c.at))
			_, all := found(t, m)
			if c.kind == "" {
				if len(all) > 0 {
					t.Errorf("it finds %+v", all)
				}
				return
			}
			if len(all) != 1 || all[0].Kind != c.kind || !strings.Contains(all[0].Text, c.says) || all[0].Warning != (c.kind == KindUnknown) {
				t.Errorf("it finds %+v, want %s: %s", all, c.kind, c.says)
			}
		})
	}
}

// A body was fetched before the log began, or two minutes before a look that did not show it, or just before.
func TestABodyThatWasNotThereInTimeIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environment string
		fetched     time.Duration // before the look that came before
		late        bool
	}{
		"two minutes late":              {"live", 2 * time.Minute, true},
		"in time":                       {"live", time.Minute, false},
		"fetched between the looks":     {"live", -time.Second, false},
		"of before the log":             {"live", 30 * 24 * time.Hour, false},
		"of a demonstration's own time": {"demo", 2 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLogOf(t, c.environment, "none")
			m := l.monitor(t.TempDir(), "two")
			found(t, m)
			l.pass(time.Minute)
			found(t, m)
			body := leafOf(t, tlog.KindBody, "eia", strings.Repeat("ab", 32), tlog.FormatTime(noon.Add(time.Minute-c.fetched)), strings.Repeat("cd", 32), "9", "false")
			l.pass(time.Minute)
			l.grow(body)
			_, all := found(t, m)
			if !c.late {
				if len(all) > 0 {
					t.Errorf("it finds %+v", all)
				}
				return
			}
			const says = "a body of eia that was fetched at 2026-03-04T11:59:00Z, was not there at 2026-03-04T12:01:00Z"
			if len(all) != 1 || all[0].Kind != KindLate || !all[0].Warning || !strings.Contains(all[0].Text, says) {
				t.Errorf("it finds %+v", all)
			}
			l.pass(25 * time.Hour)
			l.publish()
			if _, all := found(t, l.monitor(m.o.Dir, "two")); len(all) > 0 {
				t.Errorf("a day later it finds %+v", all)
			}
		})
	}
}

func TestWhatFollowsTheRulesIsNoFinding(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	dir := t.TempDir()
	m := l.monitor(dir, "two")
	found(t, m)
	l.grow(forecastLeaf(t, 1, 1, noon.Add(-time.Minute)), gapOf(t, "2026-03-03", 0))
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Errorf("%+v", all)
	}
	m = l.monitor(dir, "two") // a restart remembers which forecasts wait
	l.pass(2 * time.Hour)
	l.grow(gradeOf(t, 1, 1), leafOf(t, tlog.KindGap, "2026-03-02", "no price", at(-time.Hour)))
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Errorf("%+v", all)
	}
}

func TestAGenesisThatLiesIsEvidence(t *testing.T) {
	t.Parallel()
	link, err := chain.Next(chain.Checkpoint{}, "AAPL", "243.85", "2026-02-20")
	if err != nil {
		t.Fatal(err)
	}
	pick := leafOf(t, tlog.KindPick, "1", chain.Preimage(link), link.Hash, "2026-02-20T23:00:00.000000Z")
	for name, c := range map[string]struct {
		length, head, sealing string
		want                  bool
	}{
		"the truth":           {"1", link.Hash, "2026-03-02", false},
		"more picks":          {"85", strings.Repeat("ff", 32), "2026-03-02", true},
		"another head":        {"1", strings.Repeat("ff", 32), "2026-03-02", true},
		"a head of no chain":  {"0", strings.Repeat("ff", 32), "2026-03-02", true},
		"seals in ten years":  {"1", link.Hash, "2036-03-02", true},
		"no day of the seals": {"1", link.Hash, "none", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(t)
			genesis := leafOf(t, tlog.KindGenesis, l.signer.Origin(), "live", c.length, c.head, "none", c.sealing, "2026-03-01T00:00:00.000000Z")
			l.tree = (&testTree{root: tlog.EmptyRoot(), tiles: map[tlog.Tile][]byte{}}).grow(t, genesis, pick, gapOf(t, "2026-03-03", 0))
			l.publish()
			m := l.monitor(t.TempDir(), "two")
			m.o.Server = ""
			if kinds, all := found(t, m); slices.Contains(kinds, KindRule) != c.want {
				t.Errorf("it finds %+v", all)
			}
		})
	}
}

func TestADayWithoutPickOrGapAndAnUnknownLeafAreTold(t *testing.T) {
	t.Parallel()
	l, d := newTestLog(t), newSealedDay(t)
	l.picks = `{"picks":[{"seq":1,"hash":"` + d.link.Hash + `"}]}`
	m := l.monitor(t.TempDir(), "two")
	m.o.TradingDays = func(from, to string) (days []string) {
		for _, day := range []string{"2026-03-04", "2026-03-05", "2026-03-06", "2026-03-09"} {
			if day >= from && day <= to {
				days = append(days, day)
			}
		}
		return days
	}
	found(t, m)
	l.grow(d.pick())
	l.pass(5 * 24 * time.Hour)
	l.grow(gapOf(t, "2026-03-06", 3*24*time.Hour), []byte("hello"))
	_, all := found(t, m)
	var got []string
	for _, f := range all {
		got = append(got, strings.TrimSpace(f.Kind+" "+f.Subject))
	}
	if want := []string{"unknown", "missing day 2026-03-05"}; len(got) != 2 || !slices.Contains(got, want[0]) || !slices.Contains(got, want[1]) {
		t.Errorf("it finds %q, want %q: %+v", got, want, all)
	}
}

func TestASealThatNoQuorumHeldBeforeItsPickIsTold(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]bool{"held in time": true, "made with its pick": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, d := newTestLog(t), newSealedDay(t)
			l.picks = `{"picks":[{"seq":1,"hash":"` + d.link.Hash + `"}]}`
			m := l.monitor(t.TempDir(), "two")
			found(t, m)
			index := l.tree.size
			sealed := l.tree.grow(t, d.seal())
			l.pass(50 * time.Minute)
			whole := sealed.grow(t, d.reveal(index), d.pick())
			l.tree = whole
			l.publish()
			proven := sealed
			if !held {
				proven = whole
			}
			hashes, err := tlog.ProveInclusion(proven.size, proven.root, proven, index)
			if err != nil {
				t.Fatal(err)
			}
			proof := tlog.Proof{Index: index, Extra: d.seal(), Hashes: hashes, Note: l.cosigned(proven, l.now, l.witnesses...)}.Format()
			l.lie = func(path string, _ []byte) (int, []byte) {
				if path == fmt.Sprintf("/log/proof/%d.tlog-proof", index) {
					return http.StatusOK, proof
				}
				return 0, nil
			}
			for range 2 {
				kinds, all := found(t, m)
				if slices.Contains(kinds, KindRule) == held {
					t.Errorf("it finds %+v", all)
				}
				l.pass(time.Minute)
				l.publish()
			}
		})
	}
}

// A print of week 1 may come until 9 April, and the log must say a week later what became of the forecast.
func TestAGradeThatIsWithheldIsTold(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	dir := t.TempDir()
	m := l.monitor(dir, "two")
	found(t, m)
	l.grow(forecastLeaf(t, 1, 1, noon.Add(-time.Minute)))
	goesOn := func(at time.Time) (graded []string) {
		t.Helper()
		l.pass(at.Sub(l.now))
		l.grow(gapOf(t, at.Format(time.DateOnly), at.Sub(noon)))
		_, all := found(t, m)
		for _, f := range all {
			if f.Subject == "grades" && f.Kind == KindMissing && !f.Warning {
				graded = append(graded, f.Text)
			}
		}
		return graded
	}
	due := time.Date(2026, 3, 10, 13, 35, 0, 0, time.UTC).AddDate(0, 0, 30+7)
	if got := goesOn(due.Add(-time.Second)); len(got) > 0 {
		t.Errorf("while a grade may come, it finds %q", got)
	}
	m = l.monitor(dir, "two") // which reads what it remembered
	if got := goesOn(due.Add(time.Second)); len(got) != 1 || !strings.Contains(got[0], forecastID(1)) || !strings.HasSuffix(got[0], "Such forecasts: 1.") {
		t.Errorf("after the last moment for a grade it finds %q", got)
	}
	l.grow(gradeOf(t, 1, 1))
	if got := goesOn(due.AddDate(0, 0, 1)); len(got) > 0 {
		t.Errorf("with the grade it finds %q", got)
	}
}

// The state of an earlier version has the number of a forecast alone.
func TestTheForecastsOfAnOlderStateAreRead(t *testing.T) {
	t.Parallel()
	var r rules
	if err := json.Unmarshal([]byte(`{"ungraded":{"ab":7,"cd":{"seq":8,"id":"a/b/c","until":"2026-04-16T13:35:00Z"}}}`), &r); err != nil {
		t.Fatal(err)
	}
	if old, now := r.Ungraded["ab"], r.Ungraded["cd"]; old.Seq != 7 || !old.Until.IsZero() || now.Seq != 8 || now.ID != "a/b/c" || now.Until.IsZero() {
		t.Errorf("it reads %+v and %+v", old, now)
	}
}
