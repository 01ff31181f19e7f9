package pages

import (
	"testing"
	"time"
)

func days(dates ...string) (k knownDays) {
	for _, date := range dates {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			panic(err)
		}
		k = append(k, dayNumber(at))
	}
	return k
}

func TestStepsMoveAViewAndLeadBack(t *testing.T) {
	t.Parallel()
	var monthly, weekly, seasons knownDays
	for month := time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC); month.Year() < 2027; month = month.AddDate(0, 1, 0) {
		monthly = append(monthly, dayNumber(month))
		if m := month.Month(); m >= time.August && m <= time.November || m == time.January {
			seasons = append(seasons, dayNumber(month))
		}
	}
	for day := monthly[0]; day < monthly[len(monthly)-1]; day += 7 {
		weekly = append(weekly, day)
	}
	for name, k := range map[string]knownDays{"monthly": monthly, "weekly": weekly, "seasons": seasons} {
		for _, length := range []int{0, 1, 2, 6, 28, 31, 91, 183, 365, 1826} {
			for from := k[0]; from+length <= k[len(k)-1]; from += 13 {
				w := window{from, from + length}
				i, j := k.inside(w)
				_, wider := k.wider(w)
				earlier, before := k.step(w, -w.half())
				later, after := k.step(w, w.half())
				if before != (i > 0) || after != (j < len(k)) || wider != (j-i < len(k)) {
					t.Fatalf("%s, %v: Earlier %t, Later %t, Wider %t with points %d to %d of %d", name, w.span(), before, after, wider, i, j, len(k))
				}
				for _, next := range []window{earlier, later} {
					if a, b := k.inside(next); next != w && (a == b || next.to-next.from != length || a == i && b == j || next.to > k[len(k)-1]) {
						t.Fatalf("%s, %v: a step leads to %v with points %d to %d", name, w.span(), next.span(), a, b)
					}
				}
				if back, ok := k.step(earlier, earlier.half()); before && i < j {
					if a, b := k.inside(back); !ok || a != i || b != j {
						t.Fatalf("%s, %v: Earlier and Later lead by %v to %v, with points %d to %d, not %d to %d", name, w.span(), earlier.span(), back.span(), a, b, i, j)
					}
				}
			}
		}
	}
}

func TestAViewWithOneOrNoPointHasAWayOut(t *testing.T) {
	t.Parallel()
	k := days("2026-01-01", "2026-02-01", "2026-03-01", "2026-08-01")
	view := func(w window, ok bool) string {
		if !ok {
			return ""
		}
		return w.span().query()
	}
	for _, c := range []struct{ from, to, earlier, later, wider string }{
		{"2026-02-01", "2026-02-01", "from=2026-01-01&to=2026-01-01", "from=2026-03-01&to=2026-03-01", "from=2026-01-01&to=2026-03-05"},
		{"2026-01-18", "2026-02-15", "from=2025-12-21&to=2026-01-18", "from=2026-02-01&to=2026-03-01", "from=2026-01-04&to=2026-03-01"},
		{"2026-05-01", "2026-05-02", "from=2026-03-01&to=2026-03-02", "from=2026-07-31&to=2026-08-01", "from=2026-02-26&to=2026-07-05"},
		{"1900-01-01", "1900-12-31", "", "from=2025-01-27&to=2026-01-26", "from=2026-01-01&to=2026-08-01"},
		{"2030-01-01", "2030-01-01", "from=2026-08-01&to=2026-08-01", "", "from=2026-01-01&to=2026-08-01"},
		{"2026-01-01", "2026-08-01", "", "", ""},
	} {
		w := window{days(c.from)[0], days(c.to)[0]}
		earlier, later, wider := view(k.step(w, -w.half())), view(k.step(w, w.half())), view(k.wider(w))
		if earlier != c.earlier || later != c.later || wider != c.wider {
			t.Errorf("%s to %s: Earlier %q, Later %q, Wider %q", c.from, c.to, earlier, later, wider)
		}
	}
}
