package monitor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
	"tidemark/signals/forecast"
)

const (
	// gradeWait is how long after the last moment for a print a forecast may be without a grade: the job may fail for some days.
	gradeWait = 7 * 24 * time.Hour
	// maxUngraded bounds how many forecasts without a grade are remembered, maxDays how many days with a pick or a gap.
	maxUngraded, maxDays = 10_000, 400
	// maxFall is how much earlier than the leaf before it a leaf may be dated. Facts of long transactions and of jobs that wait come late.
	maxFall = 26 * time.Hour
	// maxDated is how far in the future a leaf may be dated.
	maxDated = time.Hour
	// sealingSoon is how soon after its beginning a log must seal its picks, if its genesis names a day.
	sealingSoon = 7 * 24 * time.Hour
)

// genesis reads entry 0.
func (r *rules) genesis(leaf tlog.Leaf) string {
	r.Environment, r.GenesisAt, r.Whole = leaf.Get("environment"), leaf.At(), true
	r.GenesisLength, _ = strconv.ParseInt(leaf.Get("chain_length"), 10, 64)
	r.GenesisHead = leaf.Get("chain_head")
	if r.GenesisLength == 0 && r.GenesisHead != chain.Genesis {
		return "the genesis says that the chain is empty, and gives it a head"
	}
	from, err := time.Parse(time.DateOnly, leaf.Get("sealing_from"))
	if err != nil {
		return ""
	}
	r.SealingFrom = leaf.Get("sealing_from")
	if from.After(leaf.At().Add(sealingSoon)) {
		return fmt.Sprintf("the genesis of %s says that picks are sealed from %s on", leaf.Get("at"), r.SealingFrom)
	}
	return ""
}

// dated holds the time of a leaf to the one before it, and to the genesis. Bodies may be imported, and a reveal waits for its seal's number.
func (r *rules) dated(leaf tlog.Leaf) string {
	at := leaf.At()
	last := r.Last
	if leaf.Kind == tlog.KindBody || leaf.Kind == tlog.KindReveal || leaf.Kind == tlog.KindGenesis || r.Environment != "live" {
		return ""
	}
	r.Last = at
	imported := !r.Begun && !at.After(r.GenesisAt)
	switch {
	case imported:
		return ""
	case !r.Begun:
		r.Begun = true
		if r.Whole && r.Picks.Length < r.GenesisLength && at.After(r.GenesisAt.Add(time.Hour)) {
			return fmt.Sprintf("the genesis says that there were %d picks, and the log has %d of them", r.GenesisLength, r.Picks.Length)
		}
	case at.Before(last.Add(-maxFall)):
		return fmt.Sprintf("it is dated %s, and follows a leaf of %s", leaf.Get("at"), tlog.FormatTime(last))
	}
	return ""
}

// announced holds a pick that continues the chain to the genesis and to its day.
func (r *rules) announced(day string) string {
	r.mark(day, true)
	if r.Whole && r.Picks.Length == r.GenesisLength && r.Picks.Head != r.GenesisHead {
		return fmt.Sprintf("the genesis says that the hash of pick %d is %s, and it is %s", r.GenesisLength, r.GenesisHead, r.Picks.Head)
	}
	return ""
}

// mark remembers that a day has a pick or a gap.
func (r *rules) mark(day string, pick bool) {
	r.Days = maps.Clone(r.Days)
	if r.Days == nil {
		r.Days = map[string]bool{}
	}
	r.Days[day] = pick
	if len(r.Days) > maxDays {
		delete(r.Days, slices.Min(slices.Collect(maps.Keys(r.Days))))
	}
}

// bodySoon is how soon after its fetch a body must be in a signed size.
const bodySoon = time.Minute

// body counts a body that the log did not have in time. The monitor's own clock says so, so it proves nothing to others. Bodies from before
// the log are left out, and bodies of a demonstration, which has another clock.
func (r *rules) body(index int64, leaf tlog.Leaf) {
	fetched := leaf.At()
	if r.Environment != "live" || !fetched.After(r.GenesisAt) || !fetched.Before(r.Seen.Add(-bodySoon)) {
		return
	}
	r.Late++
	r.LateLeaf = fmt.Sprintf("leaf %d, a body of %s that was fetched at %s, was not there at %s",
		index, leaf.Get("source"), fetched.Format(time.RFC3339), r.Seen.Format(time.RFC3339))
}

func (r *rules) gap(leaf tlog.Leaf) string {
	day := leaf.Get("date")
	pick, known := r.Days[day]
	if !known {
		r.mark(day, false)
		return ""
	}
	if pick {
		return day + " has a pick, and a gap"
	}
	return day + " has two gaps"
}

func (r *rules) correction(leaf tlog.Leaf) string {
	seq, err := strconv.ParseInt(leaf.Get("seq"), 10, 64)
	if r.PicksBroken || err == nil && seq >= 1 && seq <= r.Picks.Length {
		return ""
	}
	return fmt.Sprintf("it corrects the pick %s, and there are %d picks", leaf.Get("seq"), r.Picks.Length)
}

// forecast holds a forecast to its form, its release and the ones before it.
func (r *rules) forecast(leaf tlog.Leaf, seen time.Time) string {
	if fault := next(&r.Forecasts, leaf); fault != "" {
		return fault
	}
	number := func(key string) float64 {
		f, _ := strconv.ParseFloat(leaf.Get(key), 64)
		return f
	}
	id := digest([]byte(leaf.Get("id")))[:32]
	if _, twice := r.Ungraded[id]; twice {
		return fmt.Sprintf("the forecast %s is made twice", leaf.Get("id"))
	}
	if r.Ungraded == nil {
		r.Ungraded = map[string]ungraded{}
	}
	if len(r.Ungraded) >= maxUngraded { // the older half is forgotten, and so what a grade may be of
		oldest := slices.SortedFunc(maps.Values(r.Ungraded), func(a, b ungraded) int { return cmp.Compare(a.Seq, b.Seq) })[maxUngraded/2].Seq
		maps.DeleteFunc(r.Ungraded, func(_ string, u ungraded) bool { return u.Seq < oldest })
		r.Forgot = true
	}
	release, until, fault := r.due(leaf)
	r.Ungraded[id] = ungraded{Seq: r.Forecasts, ID: firstBytes(leaf.Get("id")), Until: until}
	switch lo, value, hi, level := number("lo"), number("value"), number("hi"), number("level"); {
	case fault != "":
		return fault
	case lo > value || value > hi:
		return fmt.Sprintf("the forecast %s is %s, and its interval is from %s to %s", leaf.Get("id"), leaf.Get("value"), leaf.Get("lo"), leaf.Get("hi"))
	case level <= 0 || level >= 1:
		return fmt.Sprintf("the level of the forecast %s is %s", leaf.Get("id"), leaf.Get("level"))
	case !leaf.At().Before(release):
		return fmt.Sprintf("the forecast %s is dated %s, and its figure was due at %s", leaf.Get("id"), leaf.Get("at"), tlog.FormatTime(release))
	case !seen.IsZero() && r.Environment == "live" && leaf.At().After(r.GenesisAt) && seen.After(release):
		// What was there before the log began came with it; a demonstration's clock is not ours.
		return fmt.Sprintf("the forecast %s came into the log after its figure was due, at %s", leaf.Get("id"), tlog.FormatTime(release))
	}
	return ""
}

// due returns when the figure of a forecast was due, until when a grade may be missing, and the fault of a leaf that states something else. It works
// the times out from figure and period, by the published schedule. Only of a figure that this program does not know it takes the log's word; such a
// forecast has no end.
func (r *rules) due(leaf tlog.Leaf) (at, until time.Time, fault string) {
	stated, _ := time.Parse(tlog.TimeLayout, leaf.Get("release_at"))
	id := leaf.Get("id")
	signal, of, _ := strings.Cut(id, "/")
	figure, period, _ := strings.Cut(of, "/")
	target := forecast.Named(signal, figure)
	if target.Figure == "" {
		r.UnknownFigures++
		return stated, until, ""
	}
	release, prints := target.ReleaseOf(period)
	switch {
	case !prints:
		return stated, until, fmt.Sprintf("the forecast %s is of %q, and no print of that figure is", id, period)
	case !release.ScheduledAt.Equal(stated):
		return stated, until, fmt.Sprintf("the forecast %s says that its figure was due at %s, and by the schedule of releases it was at %s", id,
			leaf.Get("release_at"), tlog.FormatTime(release.ScheduledAt))
	}
	return release.ScheduledAt, target.VoidAt(release).Add(gradeWait), ""
}

// grade holds a grade to its forecast: one each.
func (r *rules) grade(leaf tlog.Leaf) string {
	fault := next(&r.Grades, leaf)
	id := digest([]byte(leaf.Get("id")))[:32]
	_, open := r.Ungraded[id]
	delete(r.Ungraded, id)
	if fault == "" && !open && r.Whole && !r.Forgot {
		return fmt.Sprintf("the forecast %s is graded, and there is none without a grade", leaf.Get("id"))
	}
	return fault
}

// clone returns rules that change independently.
func (r rules) clone() rules {
	r.Seals, r.Ungraded = maps.Clone(r.Seals), maps.Clone(r.Ungraded)
	return r
}

// content reports the faults that need more than one leaf: days without a pick or a gap, times ahead, leaves of unknown kinds, and picks
// whose seal no quorum held.
func (r *round) content() {
	rules := &r.state.Rules
	live := rules.Environment == "live"
	if live && rules.Newest.After(r.now.Add(maxDated)) {
		r.find(KindRule, "ahead", false, "The log %s has a leaf that is dated %s, which is to come.", r.state.Origin, rules.Newest.Format(time.RFC3339))
	}
	if rules.UnknownLeafKinds > 0 && r.now.Sub(r.state.UnknownAt) < youngFor {
		r.find(KindUnknown, "", true, "The log %s has %d leaves of kinds that this program does not know, the last one since %s. A later version may know them.",
			r.state.Origin, rules.UnknownLeafKinds, r.state.UnknownAt.Format(time.RFC3339))
	}
	if rules.UnknownFigures > 0 && r.now.Sub(r.state.FiguresUnknownAt) < youngFor {
		r.find(KindUnknown, "figures", true,
			"The log %s has %d forecasts of figures that this program does not know, the last one since %s. It cannot tell when those were due; a later version may.",
			r.state.Origin, rules.UnknownFigures, r.state.FiguresUnknownAt.Format(time.RFC3339))
	}
	if rules.Late > 0 && r.now.Sub(r.state.LateAt) < youngFor {
		r.find(KindLate, "", true, "The log %s had %d bodies later than %s after their fetch, the last one found at %s: %s.",
			r.state.Origin, rules.Late, bodySoon, r.state.LateAt.Format(time.RFC3339), rules.LateLeaf)
	}
	if live && r.o.TradingDays != nil && len(rules.Days) > 0 && rules.Picks.Length > 0 {
		r.emptyDays()
	}
	r.ungraded(live)
	r.unheld()
}

// ungraded is a forecast without a grade.
type ungraded struct {
	Seq int64 `json:"seq"`
	// ID is the beginning of its name. Until is when it must have been graded or given up, zero if that is unknown.
	ID    string    `json:"id,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// UnmarshalJSON also reads the state of a monitor that remembered the number alone.
func (u *ungraded) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &u.Seq); err == nil {
		return nil
	}
	type plain ungraded
	return json.Unmarshal(text, (*plain)(u))
}

// ungraded reports forecasts that should have been graded or given up by the time of the log's newest leaf. An operator who leaves out bad grades
// looks more skilled than he is.
func (r *round) ungraded(live bool) {
	rules := &r.state.Rules
	until := rules.Newest // a demonstration's clock is not ours
	if live && until.After(r.now) {
		until = r.now
	}
	var overdue []ungraded
	for _, u := range rules.Ungraded {
		if !u.Until.IsZero() && !until.Before(u.Until) {
			overdue = append(overdue, u)
		}
	}
	if len(overdue) == 0 {
		return
	}
	oldest := slices.MinFunc(overdue, func(a, b ungraded) int { return cmp.Compare(a.Seq, b.Seq) })
	r.find(KindMissing, "grades", false, "The log %s has neither the grade of %s nor that it was given up, which was due by %s, and goes on until %s. Such forecasts: %d.",
		r.state.Origin, oldest.ID, oldest.Until.Format(time.RFC3339), rules.Newest.Format(time.RFC3339), len(overdue))
}

// firstBytes is the beginning of a name that may be long.
func firstBytes(name string) string { return strings.ToValidUTF8(name[:min(len(name), 200)], "") }

const (
	// dayWait is how long after its begin a day may be without a pick or a gap, and daysBack how many days are looked at.
	dayWait, daysBack = 48 * time.Hour, 30
)

// emptyDays reports trading days that have neither a pick nor a gap.
func (r *round) emptyDays() {
	days := r.state.Rules.Days
	from := max(slices.Min(slices.Collect(maps.Keys(days))), r.state.Rules.GenesisAt.Format(time.DateOnly), r.now.AddDate(0, 0, -daysBack).Format(time.DateOnly))
	for _, day := range r.o.TradingDays(from, r.now.Add(-dayWait).Format(time.DateOnly)) {
		if _, known := days[day]; !known && day > from {
			r.find(KindMissing, "day "+day, false, "The log %s has neither a pick nor a gap of %s.", r.state.Origin, day)
		}
	}
}

// openedSeal is a sealed pick whose seal a quorum should have held before the first leaf that shows it.
type openedSeal struct {
	Seal  int64 `json:"seal"`
	Shown int64 `json:"shown"`
	// ClosedAt is when the monitor saw both. Late is its finding; empty before it has asked.
	ClosedAt time.Time `json:"closed_at"`
	Late     string    `json:"late,omitempty"`
}

const (
	// unheldFor is how long the monitor reports a seal that no quorum held. maxOpened is how many sealed picks may wait for a request.
	unheldFor, maxOpened = 7 * 24 * time.Hour, 40
	// maxProof bounds a proof, in bytes.
	maxProof = 64 << 10
)

// unheld asks the log for the proof of each seal that was opened: the smallest witnessed size with the seal must not have what shows the pick.
// Otherwise the seal may have been made when the pick was known. A log that serves no proofs is not asked again.
func (r *round) unheld() {
	all := maps.Clone(r.state.Rules.Opened)
	r.state.Rules.Opened = all
	for _, day := range slices.Sorted(maps.Keys(all)) {
		o := all[day]
		if o.Late == "" {
			late, known := r.late(o)
			switch {
			case !known:
				continue
			case late == "":
				delete(all, day)
				continue
			}
			o.Late = late
			all[day] = o
		}
		if r.now.Sub(o.ClosedAt) > unheldFor {
			delete(all, day)
			continue
		}
		r.find(KindRule, "seal "+day, true, "The pick of %s was shown before a quorum held its seal: %s. The seal proves nothing.", day, o.Late)
	}
}

// late says why no quorum held a seal in time, empty if one did. It reports false if the log could not be asked.
func (r *round) late(o openedSeal) (why string, known bool) {
	body, err := r.get(r.ctx, trimmed(r.o.Log.URL)+"/proof/"+strconv.FormatInt(o.Seal, 10)+".tlog-proof", maxProof)
	if err != nil {
		return "", !isUnavailable(err)
	}
	proof, err := tlog.ParseProof(body)
	if err != nil {
		return "", true
	}
	c, err := r.open(proof.Note, r.o.Policy.Cosigners()...)
	switch {
	case err != nil || proof.Index != o.Seal || proof.Check(c.Checkpoint, tlog.LeafHash(proof.Extra)) != nil || !strings.HasPrefix(string(proof.Extra), "tidemark/seal/"):
		return "its proof is not one", true
	case c.Size > o.Shown:
		return fmt.Sprintf("the first witnessed size with leaf %d is %d, and leaf %d shows the pick", o.Seal, c.Size, o.Shown), true
	case r.o.Policy.AsksWitnesses() && !r.o.Policy.Met(c.Cosigned):
		return fmt.Sprintf("size %d has no quorum of this monitor's policy", c.Size), true
	}
	return "", true
}
