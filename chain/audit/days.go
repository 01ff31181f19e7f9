package audit

import (
	"fmt"
	"strings"
	"time"

	"tidemark/chain/gitledger"
)

// businessDays checks that every trading day since the first pick has its pick or is recorded as a gap, and that nothing else is
// recorded as one: see chain.Days.
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
	fault, waiting := w.days.Compare(a.Gaps, now)
	switch {
	case fault != "":
		c.Detail = fault + clock
	case waiting != "":
		c.Status, c.Detail = Pending, fmt.Sprintf("%s has neither a pick nor a recorded gap yet%s", waiting, clock)
	default:
		c.Status = OK
		c.Detail = fmt.Sprintf("every trading day since the first pick has its pick or its gap (%s)%s", count(len(a.Gaps), "gap"), clock)
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
