package audit

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/chain/tlog"
)

// maxProof limits the size of a proof file, in bytes, and sealReaders how many are read at once.
const (
	maxProof    = 64 << 10
	sealReaders = 8
)

// heldSeal is a sealed pick whose reveal came, and the checkpoint that the server shows for its seal.
type heldSeal struct {
	day tlog.SealedDay
	// note is nil if the server shows none that the policy can open.
	note *tlog.Opened
}

// readSealNotes reads for each revealed seal the checkpoint of its proof: the smallest that the operator's quorum cosigned.
func (s *server) readSealNotes(ctx context.Context, rules *logRules, days []tlog.SealedDay) ([]heldSeal, error) {
	var list []heldSeal
	for _, d := range days {
		if d.SealIndex >= 0 && d.RevealIndex >= 0 {
			list = append(list, heldSeal{day: d})
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(sealReaders)
	for i := range list {
		g.Go(func() error {
			text, err := s.file(ctx, fmt.Sprintf("/log/proof/%d.tlog-proof", list[i].day.SealIndex), maxProof)
			if err != nil {
				return err
			}
			if proof, err := tlog.ParseProof(text); err == nil {
				list[i].note, _ = rules.Open(proof.Note)
			}
			return nil
		})
	}
	return list, g.Wait()
}

// isInTime reports whether a quorum of the policy cosigned the seal before its reveal. The cosigned size has the seal and not yet the reveal,
// at a time before the reveal's. A demonstration's leaves have another clock than the witnesses, so there the sizes alone count.
func (h heldSeal) isInTime(rules *logRules, roots map[int64]tlog.Hash, clocks bool) bool {
	if h.note == nil || h.note.Size <= h.day.SealIndex || h.note.Size > h.day.RevealIndex || roots[h.note.Size] != h.note.Root {
		return false
	}
	var names []string
	for name, c := range rules.TimesOf(h.note) {
		if !clocks || !c.At.After(h.day.RevealedAt) {
			names = append(names, name)
		}
	}
	return rules.Enough(names)
}

// compareSealOrder names the sealed picks that no quorum held between their sealing and their reveal: nothing but the server's word then says
// that the decision came before the announcement.
func compareSealOrder(ctx context.Context, s *server, rules *logRules, l *sealing, now time.Time, clocks bool) Check {
	c := Check{Name: "seal_order", Status: NotChecked}
	if !rules.AsksWitnesses() {
		c.Detail = "the policy asks for no witness, so nobody saw the seals before the reveals"
		return c
	}
	list, err := s.readSealNotes(ctx, rules, l.days.Days(now))
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	if len(list) == 0 {
		c.Status, c.Detail = OK, "no seal was revealed yet"
		return c
	}
	var sizes []int64
	for _, h := range list {
		if h.note != nil {
			sizes = append(sizes, h.note.Size)
		}
	}
	roots := l.rootsAt(sizes...)
	var without []string
	for _, h := range list {
		if !h.isInTime(rules, roots, clocks) {
			without = append(without, h.day.Date)
		}
	}
	whose := "a quorum of your policy"
	if rules.named {
		whose = "more than half of the witnesses that the server names"
	}
	if len(without) == 0 {
		c.Status, c.Detail = OK, fmt.Sprintf("%s cosigned each of %s before its reveal", whose, count(len(list), "sealed pick"))
		return c
	}
	c.Status = Unproven
	c.Detail = fmt.Sprintf("of %s, %d were not cosigned by %s before the reveal, so only the server says that the decision came first: %s",
		count(len(list), "sealed pick"), len(without), whose, firstOf(without))
	return c
}

// firstOf lists the first days, and how many more there are.
func firstOf(days []string) string {
	const most = 10
	text := ""
	for i, d := range days {
		switch {
		case i == most:
			return fmt.Sprintf("%s and %d more", text, len(days)-most)
		case i > 0:
			text += ", "
		}
		text += d
	}
	return text
}
