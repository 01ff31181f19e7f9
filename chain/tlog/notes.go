package tlog

import (
	"fmt"
	"slices"
	"strconv"

	"tidemark/chain"
)

// LoggedNotes are the days without a pick and the corrections among the leaves of a log. The zero value is before the first leaf.
type LoggedNotes struct {
	gaps        []chain.Gap
	corrections []chain.Correction
}

// Add adds a leaf. It ignores leaves of other kinds.
func (n *LoggedNotes) Add(l Leaf) {
	switch l.Kind {
	case KindGap:
		n.gaps = append(n.gaps, chain.Gap{Date: l.Get("date"), Reason: l.Get("reason")})
	case KindCorrection:
		seq, _ := strconv.ParseInt(l.Get("seq"), 10, 64) // the leaf's form makes it a number
		n.corrections = append(n.corrections, chain.Correction{Seq: seq, What: l.Get("what"), Evidence: l.Get("evidence"), Date: l.Get("date")})
	}
}

// Hidden says in a sentence each which of them a server does not show.
func (n *LoggedNotes) Hidden(gaps []chain.Gap, corrections []chain.Correction) (list []string) {
	for _, g := range n.gaps {
		if !slices.Contains(gaps, g) {
			list = append(list, fmt.Sprintf("The log has the day without a pick %s (%s), and the server does not show it.", g.Date, g.Reason))
		}
	}
	for _, c := range n.corrections {
		if !slices.Contains(corrections, c) {
			list = append(list, fmt.Sprintf("The log has a correction of pick %d of %s, and the server does not show it.", c.Seq, c.Date))
		}
	}
	return list
}

// Missing says in a sentence each which days without a pick and which corrections a server shows that are not among them.
func (n *LoggedNotes) Missing(gaps []chain.Gap, corrections []chain.Correction) (list []string) {
	for _, g := range gaps {
		if !slices.Contains(n.gaps, g) {
			list = append(list, fmt.Sprintf("The server shows the day without a pick %s (%s), which is not in the signed log.", g.Date, g.Reason))
		}
	}
	for _, c := range corrections {
		if !slices.Contains(n.corrections, c) {
			list = append(list, fmt.Sprintf("The server shows a correction of pick %d of %s, which is not in the signed log.", c.Seq, c.Date))
		}
	}
	return list
}
