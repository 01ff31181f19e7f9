package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"tidemark/chain"
	"tidemark/chain/gitledger"
	"tidemark/internal/calendar"
)

// readLedger reads the git ledger. It returns a check if there is nothing to compare with.
func (o Options) readLedger(ctx context.Context, s *server, said *answer) (*gitledger.Record, *Check) {
	without := func(status Status, format string, args ...any) (*gitledger.Record, *Check) {
		return nil, &Check{"git", status, fmt.Sprintf(format, args...)}
	}
	src := gitledger.Source{Location: o.Ledger}
	if o.Ledger == "" {
		if said.Git.Repository == nil || *said.Git.Repository == "" {
			return without(NotChecked, "the server names no ledger")
		}
		var why string
		if src, why = s.namedLedger(ctx, *said.Git.Repository); why != "" {
			return without(NotChecked, "%s", why)
		}
		if said.Git.Branch != nil {
			src.Branch = *said.Git.Branch
		}
	} else if _, ok := gitledger.LocalPath(o.Ledger); ok && !strings.HasPrefix(o.Ledger, "file:") {
		full, err := filepath.Abs(o.Ledger)
		if err != nil {
			return without(NotChecked, "%v", err)
		}
		src.Location = full
	}
	src.AllowedSigners, src.Environ = o.Signers, o.Environ
	record, err := gitledger.Read(ctx, src)
	tampered := (*gitledger.TamperError)(nil)
	switch {
	case errors.As(err, &tampered), errors.Is(err, gitledger.ErrDamaged):
		return without(Mismatch, "%v", err)
	case err != nil:
		return without(NotChecked, "%v", err)
	}
	return record, nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func isLoopbackURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isLoopback(u.Hostname())
}

// compareLedger compares the ledger and the chain, entry by entry and in both directions. final is nil if the chain is broken. Then only
// the picks before the break can be compared.
func compareLedger(w *verification, r *gitledger.Record, said, final *answer) Check {
	c := Check{Name: "git", Status: Mismatch}
	length := w.verifier.Checkpoint().Length
	if _, err := chain.Verify(chain.Each(r.Links())); err != nil {
		c.Detail = fmt.Sprintf("the ledger's own chain is broken: %v", err)
		return c
	}
	switch {
	case r.Head != "" && r.Environment != said.Environment:
		c.Detail = fmt.Sprintf("the ledger's environment is %q, the server says %.40q", r.Environment, said.Environment)
		return c
	case w.strays != "":
		c.Detail = w.strays
		return c
	case final == nil:
		c.Status, c.Detail = NotChecked, fmt.Sprintf("not beyond the %d picks that belong together; those are the ledger's", length)
		return c
	case int64(len(r.Picks)) > length:
		c.Detail = fmt.Sprintf("the ledger has %d picks, the server shows %d", len(r.Picks), length)
		return c
	}
	var gaps, notes entries
	for _, g := range final.Gaps {
		gaps.add(&gaps.server, g.Date, "the gap of "+g.Date+" ("+g.Reason+")")
	}
	for _, g := range r.Gaps {
		gaps.add(&gaps.ledger, g.Date, "the gap of "+g.Date+" ("+g.Reason+")")
	}
	correction := func(to *[]entry, k chain.Correction) {
		notes.add(to, k.Date, fmt.Sprintf("the correction of pick %d (%s; %s; %s)", k.Seq, k.What, k.Evidence, k.Date))
	}
	for _, k := range final.Corrections {
		correction(&notes.server, k)
	}
	for _, k := range r.Corrections {
		correction(&notes.ledger, k.Correction)
	}
	known := newestDay(r)
	lateGaps, fault := gaps.compare(known)
	lateNotes, otherFault := notes.compare(known)
	if c.Detail = fault + otherFault; c.Detail != "" {
		return c
	}
	same := fmt.Sprintf("%s, %s, %s", count(len(r.Picks), "pick"), count(len(r.Gaps), "gap"), count(len(r.Corrections), "correction"))
	if late := int(length) - len(r.Picks) + lateGaps + lateNotes; late > 0 {
		c.Status, c.Detail = Pending, fmt.Sprintf("%s: the same in the ledger, which has yet to get %d more", same, late)
		return c
	}
	if named := said.Git.Commit; named != nil && !hasCommit(r, *named) {
		c.Detail = fmt.Sprintf("the server names the commit %.64q, which the ledger does not have", *named)
		return c
	}
	c.Status, c.Detail = OK, fmt.Sprintf("%s: the same in the ledger at commit %.12s", same, r.Head)
	if r.Head == "" {
		c.Detail = "nothing is recorded, here and in the ledger"
	}
	return c
}

// entries are the gaps or the corrections of both sides.
type entries struct{ server, ledger []entry }

// entry is one of them, and the day that it names.
type entry struct{ day, is string }

func (e *entries) add(to *[]entry, day, is string) { *to = append(*to, entry{day, is}) }

// compare counts the entries that the ledger does not have yet: the server's entries of the day of the ledger's newest commit or later.
// Every other difference is a fault.
func (e *entries) compare(newest string) (late int, fault string) {
	server, ledger := map[entry]bool{}, map[entry]bool{}
	for _, x := range e.server {
		server[x] = true
	}
	for _, x := range e.ledger {
		if ledger[x] = true; !server[x] {
			return 0, "the ledger has " + x.is + ", and the server does not show it"
		}
	}
	for _, x := range e.server {
		switch {
		case ledger[x]:
		case x.day < newest:
			return 0, "the server shows " + x.is + ", and the ledger does not have it"
		default:
			late++
		}
	}
	return late, ""
}

// newestDay is the day in New York of the newest commit of a ledger, empty for an empty one.
func newestDay(r *gitledger.Record) string {
	var at time.Time
	for c := range commits(r) {
		if c.At.After(at) {
			at = c.At
		}
	}
	if at.IsZero() {
		return ""
	}
	return calendar.DayOf(at).Format(time.DateOnly)
}

func hasCommit(r *gitledger.Record, id string) bool {
	for c := range commits(r) {
		if c.ID == id {
			return true
		}
	}
	return false
}

func commits(r *gitledger.Record) iter.Seq[gitledger.Commit] {
	return func(yield func(gitledger.Commit) bool) {
		for _, p := range r.Picks {
			if !yield(p.Commit) {
				return
			}
		}
		for _, g := range r.Gaps {
			if !yield(g.Commit) {
				return
			}
		}
		for _, c := range r.Corrections {
			if !yield(c.Commit) {
				return
			}
		}
	}
}
