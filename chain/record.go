package chain

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// maxNote bounds the free text of a correction or a gap, in bytes.
const maxNote = 2000

// Correction states that an announced pick was wrong. It is stored next to the link and changes nothing in it: the chain is never edited,
// and a reader sees both.
type Correction struct {
	// Seq is the pick that was wrong.
	Seq int64
	// What was wrong, and what would have been right: one line for a reader.
	What string
	// Evidence is where the mistake can be seen, usually an address.
	Evidence string
	// Date is the day when the correction was recorded, YYYY-MM-DD.
	Date string
}

// Gap is a trading day that has no pick. It is recorded when it happens and never filled in later.
type Gap struct {
	// Date is the trading day, YYYY-MM-DD.
	Date string
	// Reason says why there is no pick: one line for a reader.
	Reason string
}

// Check returns an error if the correction cannot be recorded. It does not check whether the pick exists.
func (c Correction) Check() error {
	if c.Seq < 1 {
		return fmt.Errorf("correction of pick %d: picks count from 1", c.Seq)
	}
	if fault := noteFault(c.What); fault != "" {
		return fmt.Errorf("correction of pick %d: what was wrong %s", c.Seq, fault)
	}
	if fault := noteFault(c.Evidence); fault != "" {
		return fmt.Errorf("correction of pick %d: the evidence %s", c.Seq, fault)
	}
	if dayOf(c.Date) == 0 {
		return fmt.Errorf("correction of pick %d: the date %q is not a day as YYYY-MM-DD", c.Seq, c.Date)
	}
	return nil
}

// Check returns an error if the gap cannot be recorded.
func (g Gap) Check() error {
	if dayOf(g.Date) == 0 {
		return fmt.Errorf("gap: the date %q is not a day as YYYY-MM-DD", g.Date)
	}
	if fault := noteFault(g.Reason); fault != "" {
		return fmt.Errorf("gap of %s: the reason %s", g.Date, fault)
	}
	return nil
}

// noteFault says what is wrong with one line of free text, empty for nothing.
func noteFault(s string) string {
	switch {
	case s == "":
		return "is missing"
	case len(s) > maxNote:
		return fmt.Sprintf("is longer than %d bytes", maxNote)
	case !utf8.ValidString(s):
		return "is no valid UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return "must be one line without control characters"
		}
	}
	return ""
}
