package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/chain/gitledger"
	"tidemark/internal/calendar"
)

// days follows the dates of the picks along the exchange's calendar.
type days struct {
	// first and last are the dates of the first and the newest pick, zero before there is one.
	first, last time.Time
	// skipped are the trading days between them that have no pick. The calendar bounds them.
	skipped []time.Time
	// odd says which pick is of no trading day, empty while none is.
	odd string
}

func (d *days) pick(seq int64, date string) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return // the chain's own rules refuse it
	}
	if reason, closed := calendar.Closed(day); closed && d.odd == "" {
		d.odd = fmt.Sprintf("pick %d is of %s, when the exchange was closed (%s)", seq, date, reason)
	}
	if d.first.IsZero() {
		d.first = day
	} else {
		d.skipped = append(d.skipped, calendar.Between(d.last.AddDate(0, 0, 1), day.AddDate(0, 0, -1))...)
	}
	d.last = day
}

func (d *days) isSkipped(day time.Time) bool {
	_, found := slices.BinarySearchFunc(d.skipped, day, time.Time.Compare)
	return found
}

// businessDays checks that every trading day since the first pick has its pick or is recorded as a gap, and that nothing else is
// recorded as one.
//
// The newest day that is over may still be without a word: it has the next trading day to be recorded. A trading day before it, or
// before the newest pick, has not.
//
// now is the time by the clock of clockOwner, "reader" or "server". fault says why the server's clock cannot be read; it is empty if it can.
func businessDays(w *verification, a *answer, now time.Time, clockOwner, fault string) Check {
	c := Check{Name: "business_days", Status: Mismatch}
	if fault != "" {
		c.Detail = fault
		return c
	}
	clock := ""
	switch {
	case clockOwner == "server":
		clock = ", by the demonstration's own clock"
	case a.Environment == "demo":
		clock = ", by your clock: it counts where you name what to trust or require"
	}
	today := calendar.DayOf(now)
	d := &w.days
	gaps := map[string]bool{}
	for _, g := range a.Gaps {
		day, err := time.Parse(time.DateOnly, g.Date)
		reason, closed := calendar.Closed(day)
		inside := !d.first.IsZero() && !day.Before(d.first) && !day.After(d.last)
		switch {
		case err != nil || closed:
			c.Detail = fmt.Sprintf("%s is recorded as a gap, and the exchange was closed (%s)", g.Date, reason)
		case gaps[g.Date]:
			c.Detail = g.Date + " is recorded as a gap twice"
		case inside && !d.isSkipped(day):
			c.Detail = g.Date + " is recorded as a gap, and there is a pick of that day"
		case day.After(today):
			c.Detail = g.Date + " is recorded as a gap before it has come"
		default:
			gaps[g.Date] = true
			continue
		}
		return c
	}
	var missing []string
	for _, day := range d.skipped {
		if !gaps[day.Format(time.DateOnly)] {
			missing = append(missing, day.Format(time.DateOnly))
		}
	}
	waiting := ""
	if !d.last.IsZero() {
		for _, day := range calendar.Between(d.last.AddDate(0, 0, 1), today.AddDate(0, 0, -1)) {
			switch date := day.Format(time.DateOnly); {
			case gaps[date]:
			case calendar.Next(day).Before(today):
				missing = append(missing, date)
			default:
				waiting = date
			}
		}
	}
	switch {
	case d.odd != "":
		c.Detail = d.odd
	case !d.last.IsZero() && d.last.After(today):
		c.Detail = fmt.Sprintf("the newest pick is of %s, which has not come yet%s", d.last.Format(time.DateOnly), clock)
	case len(missing) > 0:
		c.Detail = fmt.Sprintf("%s without a pick and without a recorded gap: %s%s", count(len(missing), "trading day"), some(missing), clock)
	case waiting != "":
		c.Status, c.Detail = Pending, fmt.Sprintf("%s has neither a pick nor a recorded gap yet%s", waiting, clock)
	default:
		c.Status = OK
		c.Detail = fmt.Sprintf("every trading day since the first pick has its pick or its gap (%s)%s", count(len(gaps), "gap"), clock)
	}
	return c
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// some names the first few of a list.
func some(of []string) string {
	const few = 3
	if len(of) <= few {
		return strings.Join(of, ", ")
	}
	return strings.Join(of[:few], ", ") + " ..."
}

// usesServerClock reports whether the server's clock is used. The server must call itself a demonstration. The reader must either state no
// requirement, or know from another source that it is one. Otherwise a live record that stopped could call itself a demonstration and stay
// fresh permanently. A ledger that the reader named confirms a demonstration if it states this itself.
func (o Options) usesServerClock(said *answer, ledger *gitledger.Record) bool {
	if said.Environment != "demo" || o.Environment != "" {
		return said.Environment == "demo" && o.Environment == "demo"
	}
	if o.Ledger != "" && (ledger == nil || ledger.Environment != "demo") {
		return false
	}
	return !o.Witnessed && o.Signers == "" && len(o.RPC) == 0 && o.Attester == "" && o.Policy == nil && o.Checkpoint.Length == 0
}

// clock returns the server's time, or the reader's with the reason why the server's cannot be read.
func (a *answer) clock(now time.Time) (at time.Time, fault string) {
	at, err := time.Parse(time.RFC3339, a.VerifiedAt)
	if err != nil {
		return now, fmt.Sprintf("verified_at is %.40q, which is not a time", a.VerifiedAt)
	}
	return at, ""
}
