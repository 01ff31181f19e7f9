package monitor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/chain/tlog"
)

// aboutPick begins the subject of a pick's seal. The day follows.
const aboutPick = "pick "

// maxOpen bounds how many seals of picks may be open. A record has one a day, open for half an hour.
const maxOpen = 100

// openSeal is a seal of a pick whose reveal or pick is not in the log yet.
type openSeal struct {
	Index      int64     `json:"index"`
	Commitment string    `json:"commitment"`
	RevealBy   time.Time `json:"reveal_by"`
	// SeenAt is when the monitor saw the seal; zero if it may have been there for long.
	SeenAt time.Time `json:"seen_at"`
	// Revealed is the SHA-256 of the content of the reveal, Picked the SHA-256 of the preimage of the pick's leaf; empty before.
	Revealed string `json:"revealed,omitempty"`
	Picked   string `json:"picked,omitempty"`
	// Shown is the number of the first leaf that shows the pick, 0 before.
	Shown int64 `json:"shown,omitempty"`
	// Said means that the missing reveal is stored as evidence.
	Said bool `json:"said,omitempty"`
}

// show notes the first leaf that shows the pick.
func (s *openSeal) show(index int64) {
	if s.Shown == 0 {
		s.Shown = index
	}
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// openPick remembers the seal of a pick until its reveal and its pick are there.
func (r *rules) openPick(index int64, leaf tlog.Leaf, seen time.Time) string {
	day, ok := strings.CutPrefix(leaf.Get("about"), aboutPick)
	if !ok {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return fmt.Sprintf("a seal is about %q, which is no day", leaf.Get("about"))
	}
	if r.SealingFrom == "" || day < r.SealingFrom {
		r.SealingFrom = day
	}
	if len(r.Open) >= maxOpen {
		return fmt.Sprintf("%d seals of picks are open at once", len(r.Open))
	}
	revealBy, _ := time.Parse(tlog.TimeLayout, leaf.Get("reveal_by"))
	open := maps.Clone(r.Open)
	if open == nil {
		open = map[string]openSeal{}
	}
	open[day] = openSeal{Index: index, Commitment: leaf.Get("commitment"), RevealBy: revealBy, SeenAt: seen}
	r.Open = open
	if !tlog.IsBounded(day, revealBy) {
		return fmt.Sprintf("the seal of %s may be revealed until %s, more than 48 hours after its day began", day, leaf.Get("reveal_by"))
	}
	return ""
}

// reveal holds a reveal to its seal.
func (r *rules) reveal(index int64, leaf tlog.Leaf) string {
	day, ok := strings.CutPrefix(leaf.Get("about"), aboutPick)
	if !ok {
		return ""
	}
	s, ok := r.Open[day]
	if !ok || leaf.Get("seal") != strconv.FormatInt(s.Index, 10) || s.Revealed != "" {
		return fmt.Sprintf("the reveal about %s opens no seal that is open", leaf.Get("about"))
	}
	content, _ := leaf.Content()
	salt, _ := hex.DecodeString(leaf.Get("salt"))
	if tlog.Commitment(salt, content) != s.Commitment {
		return fmt.Sprintf("the reveal of %s is not what leaf %d committed to", day, s.Index)
	}
	s.Revealed = digest(content)
	s.show(index)
	late := leaf.At().After(s.RevealBy)
	if fault := r.close(day, s); fault != "" {
		return fault
	}
	if late {
		return fmt.Sprintf("the pick of %s was revealed at %s, after its time ended at %s", day, leaf.Get("at"), s.RevealBy.Format(time.RFC3339))
	}
	return ""
}

// sealed holds a pick's leaf to its seal. Since the first sealed day each pick needs one.
func (r *rules) sealed(index int64, day, preimage string) string {
	s, ok := r.Open[day]
	switch {
	case !ok && r.SealingFrom != "" && day >= r.SealingFrom:
		return fmt.Sprintf("the pick of %s has no seal before it, and picks are sealed since %s", day, r.SealingFrom)
	case !ok:
		return ""
	}
	s.show(index)
	s.Picked = digest([]byte(preimage))
	return r.close(day, s)
}

// close stores the state of a seal, and removes it when its reveal and its pick are there.
func (r *rules) close(day string, s openSeal) string {
	r.Open = maps.Clone(r.Open)
	if s.Revealed == "" || s.Picked == "" {
		r.Open[day] = s
		return ""
	}
	delete(r.Open, day)
	if r.Environment == "live" && len(r.Opened) < maxOpened && !s.SeenAt.IsZero() {
		r.Opened = maps.Clone(r.Opened)
		if r.Opened == nil {
			r.Opened = map[string]openedSeal{}
		}
		r.Opened[day] = openedSeal{Seal: s.Index, Shown: s.Shown, ClosedAt: s.SeenAt}
	}
	if s.Revealed != s.Picked {
		return fmt.Sprintf("the reveal of %s shows another pick than the one that was announced", day)
	}
	return ""
}

// reveals reports seals whose reveal did not come. A live log is held to the monitor's clock as well as to its own leaves; the days of a
// demonstration pass at another pace.
func (r *round) reveals() error {
	rules := &r.state.Rules
	for _, day := range slices.Sorted(maps.Keys(rules.Open)) {
		s := rules.Open[day]
		overdue := rules.Newest.After(s.RevealBy) || rules.Environment == "live" && r.now.After(s.RevealBy)
		if s.Revealed != "" || !overdue || !s.SeenAt.IsZero() && r.now.Sub(s.SeenAt) <= grace {
			continue
		}
		text := fmt.Sprintf("The log %s sealed the pick of %s in leaf %d, and did not reveal it by %s", r.state.Origin, day, s.Index, s.RevealBy.Format(time.RFC3339))
		if rules.Environment != "live" || !r.quorum.After(s.RevealBy) {
			r.find(KindMissing, "reveal "+day, false, "%s.", text)
			continue
		}
		// A quorum's checkpoint after the time has the seal and not the reveal: that convicts the log.
		if s.Said {
			continue
		}
		if err := r.prove(KindMissing, "reveal "+day, text, r.state.Note); err != nil {
			return err
		}
		s.Said = true
		rules.Open = maps.Clone(rules.Open)
		rules.Open[day] = s
	}
	return nil
}
