package tlog

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/chain"
)

// SealFault says what is wrong with the sealed pick of a day.
type SealFault string

// The faults, the worse ones later.
const (
	// SealLate: the reveal came after its time.
	SealLate SealFault = "late"
	// SealMissing: the time of the reveal is over, and it did not come.
	SealMissing SealFault = "missing"
	// SealAbsent: a pick was announced without a seal before it, after picks began to be sealed.
	SealAbsent SealFault = "unsealed"
	// SealDoubled: the day has two seals, or two reveals.
	SealDoubled SealFault = "doubled"
	// SealWrong: the reveal opens no seal, or shows another pick than the announced pick; or the seal gives itself too much time.
	SealWrong SealFault = "wrong"
)

var sealFaults = []SealFault{SealLate, SealMissing, SealAbsent, SealDoubled, SealWrong}

// SealedDay is a day whose pick was sealed, and what became of it.
type SealedDay struct {
	Date string
	// Commitment and Method are from the seal; empty without one.
	Commitment, Method string
	// RevealBy is the end of the time for the reveal. RevealedAt is zero before the reveal.
	SealedAt, RevealBy, RevealedAt time.Time
	// SealIndex and RevealIndex are the numbers of the leaves, -1 until it exists.
	SealIndex, RevealIndex int64
	// Fault is empty if nothing is wrong. Contradicts reports whether signed leaves prove that the record broke its promise: a reveal that
	// is late is not among them.
	Fault       SealFault
	Contradicts bool

	shown, picked []byte
	unbounded     bool
}

// MaxReveal bounds the time that a seal may give itself: its reveal_by is less than 48 hours after the beginning of its day, in UTC. Pick days
// end, and picks are announced, by the clocks of New York, at most five hours later.
const MaxReveal = 48 * time.Hour

// IsBounded reports whether a seal about the pick of a day ends in time.
func IsBounded(day string, revealBy time.Time) bool {
	begin, err := time.Parse(time.DateOnly, day)
	return err == nil && revealBy.Sub(begin) < MaxReveal
}

// Text says in a sentence what is wrong, empty for nothing.
func (d SealedDay) Text() string {
	minute := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
	switch d.Fault {
	case SealLate:
		return fmt.Sprintf("The pick of %s was revealed at %s, after its time ended at %s.", d.Date, minute(d.RevealedAt), minute(d.RevealBy))
	case SealMissing:
		return fmt.Sprintf("A pick of %s was sealed and had to be revealed by %s. The reveal did not come.", d.Date, minute(d.RevealBy))
	case SealAbsent:
		return fmt.Sprintf("The pick of %s was announced without a seal before it.", d.Date)
	case SealDoubled:
		return d.Date + " has more than one seal or reveal."
	case SealWrong:
		if d.unbounded {
			return fmt.Sprintf("The seal of %s may be revealed until %s, more than 48 hours after its day began.", d.Date, minute(d.RevealBy))
		}
		return fmt.Sprintf("The reveal of %s opens no seal of that day, or shows another pick than the announced pick.", d.Date)
	}
	return ""
}

// SealedDays follows the leaves of a record and holds the reveals to their seals. The zero value is before the first leaf.
type SealedDays struct {
	days map[string]*SealedDay
	// from is the first day that must be sealed, empty while none is known. newest is the latest time of a leaf, and newestIndex its number.
	from        string
	newest      time.Time
	newestIndex int64
}

// Add adds the next leaf. Kinds that say nothing about seals may be left out.
func (s *SealedDays) Add(index int64, l Leaf) {
	if at := l.At(); at.After(s.newest) && l.Kind != KindBody { // bodies are of the other log
		s.newest, s.newestIndex = at, index
	}
	switch l.Kind {
	case KindGenesis:
		if from := l.Get("sealing_from"); day(from) == "" {
			s.from = from
		}
	case KindSeal:
		s.seal(index, l)
	case KindReveal:
		s.reveal(index, l)
	case KindPick:
		s.pick(l)
	}
}

// Ahead says in a sentence that a leaf is of a time that had not come at an instant; empty for none. A log that signed one states a false time.
func (s *SealedDays) Ahead(now time.Time) string {
	if !s.newest.After(now.Add(chain.Ahead)) {
		return ""
	}
	return fmt.Sprintf("Leaf %d of the log is of %s, which has not come yet.", s.newestIndex, s.newest.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// day returns the day with a date, and makes it if need be.
func (s *SealedDays) day(date string) *SealedDay {
	if s.days == nil {
		s.days = map[string]*SealedDay{}
	}
	d, ok := s.days[date]
	if !ok {
		d = &SealedDay{Date: date, SealIndex: -1, RevealIndex: -1}
		s.days[date] = d
	}
	return d
}

// dayOfPick returns the day that a seal or a reveal is about.
func dayOfPick(l Leaf) (date string, ok bool) {
	date, ok = strings.CutPrefix(l.Get("about"), "pick ")
	return date, ok && day(date) == ""
}

func (s *SealedDays) seal(index int64, l Leaf) {
	date, ok := dayOfPick(l)
	if !ok {
		return
	}
	if s.from == "" {
		s.from = date
	}
	d := s.day(date)
	if d.SealIndex >= 0 {
		d.blame(SealDoubled)
		return
	}
	d.SealIndex, d.Commitment, d.Method, d.SealedAt = index, l.Get("commitment"), l.Get("method"), l.At()
	d.RevealBy, _ = time.Parse(TimeLayout, l.Get("reveal_by"))
	if d.unbounded = !IsBounded(date, d.RevealBy); d.unbounded {
		d.blame(SealWrong)
	}
}

func (s *SealedDays) reveal(index int64, l Leaf) {
	date, ok := dayOfPick(l)
	if !ok {
		return
	}
	d := s.day(date)
	if d.RevealIndex >= 0 {
		d.blame(SealDoubled)
		return
	}
	d.RevealIndex, d.RevealedAt = index, l.At()
	d.shown, _ = l.Content()
	salt, _ := hex.DecodeString(l.Get("salt"))
	switch {
	case d.SealIndex < 0, l.Get("seal") != strconv.FormatInt(d.SealIndex, 10), Commitment(salt, d.shown) != d.Commitment:
		d.blame(SealWrong)
	case d.RevealedAt.After(d.RevealBy):
		d.blame(SealLate)
	}
	d.compare()
}

func (s *SealedDays) pick(l Leaf) {
	part := strings.Split(l.Get("preimage"), "|")
	if len(part) != 4 || day(part[2]) != "" || s.from == "" || part[2] < s.from {
		return
	}
	d := s.day(part[2])
	d.picked = []byte(l.Get("preimage"))
	if d.SealIndex < 0 {
		d.blame(SealAbsent)
	}
	d.compare()
}

// compare compares the reveal with the announced pick.
func (d *SealedDay) compare() {
	if d.shown != nil && d.picked != nil && !bytes.Equal(d.shown, d.picked) {
		d.blame(SealWrong)
	}
}

// blame records a fault unless there is a worse one.
func (d *SealedDay) blame(f SealFault) {
	if slices.Index(sealFaults, f) > slices.Index(sealFaults, d.Fault) {
		d.Fault, d.Contradicts = f, f != SealLate
	}
}

// Days returns the state of the days at an instant, by their dates.
func (s *SealedDays) Days(now time.Time) []SealedDay {
	out := make([]SealedDay, 0, len(s.days))
	for _, p := range s.days {
		d := *p
		if d.SealIndex >= 0 && d.RevealIndex < 0 && (now.After(d.RevealBy) || s.newest.After(d.RevealBy)) && d.Fault == "" {
			// Only a log that grew without it proves the fault: a log that stands still may have it ready.
			d.Fault, d.Contradicts = SealMissing, s.newest.After(d.RevealBy)
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b SealedDay) int { return cmp.Compare(a.Date, b.Date) })
	return out
}
