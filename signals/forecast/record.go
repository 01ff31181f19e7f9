package forecast

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/series"
)

// Record is a forecast, recorded permanently before its figure is published. Every text is part of the hashed line.
type Record struct {
	// ID names the forecast, Signal its signal, Figure what is forecast and Period the print's period: "2026-11-20".
	ID, Signal, Figure, Period string
	IssuedAt                   time.Time
	// Quantiles are at Levels, also for the two naive forecasts.
	Quantiles, Naive1, Naive2 []Decimal
	// ModelVersion names the code and constants that made it; InputsHash is of every value that it read.
	ModelVersion, InputsHash string
	// PreviousHash is the hash of the record before, or NoRecord.
	PreviousHash string
}

// NoRecord replaces the previous hash in the first record.
const NoRecord = "0000000000000000000000000000000000000000000000000000000000000000"

// Line is the text whose hash is the record's.
func (r Record) Line() string {
	return strings.Join([]string{
		r.ID, r.Signal, r.Figure + "/" + r.Period, r.IssuedAt.UTC().Format(time.RFC3339),
		Joined(r.Quantiles), Joined(r.Naive1), Joined(r.Naive2), r.ModelVersion, r.InputsHash, r.PreviousHash,
	}, "|")
}

// Hash is the lower-case hex SHA-256 of the line.
func (r Record) Hash() string { return hashOf(r.Line()) }

// Grade is the graded outcome of a forecast, in its own chain.
type Grade struct {
	ID string
	// Outcome is the figure's first print. It is empty if none came in time: then there are no scores either, and FlagVoid is set.
	Outcome Decimal
	// PublishedAt is the vintage of the outcome: when it became known, or when it was given up.
	PublishedAt time.Time
	// Scores are exact, of the recorded texts.
	Score, Score1, Score2 Decimal
	Flags                 []string
	PreviousHash          string
}

// The flags of a grade.
const (
	// FlagVoid: no print came within the time that the target allows. It is listed and does not count.
	FlagVoid = "void"
	// FlagVintageBreak: the release changed earlier values by over 5 %. It counts all the same.
	FlagVintageBreak = "vintage_break"
)

// Line is the text whose hash is the grade's.
func (g Grade) Line() string {
	return strings.Join([]string{
		g.ID, string(g.Outcome), g.PublishedAt.UTC().Format(time.RFC3339), string(g.Score), string(g.Score1), string(g.Score2),
		strings.Join(g.Flags, ","), g.PreviousHash,
	}, "|")
}

// Hash is the lower-case hex SHA-256 of the line.
func (g Grade) Hash() string { return hashOf(g.Line()) }

// NewGrade scores a record by its outcome.
func NewGrade(r Record, outcome Decimal, publishedAt time.Time, flags []string) (Grade, error) {
	g := Grade{ID: r.ID, Outcome: outcome, PublishedAt: publishedAt, Flags: flags}
	for _, s := range []struct {
		to        *Decimal
		quantiles []Decimal
	}{{&g.Score, r.Quantiles}, {&g.Score1, r.Naive1}, {&g.Score2, r.Naive2}} {
		var err error
		if *s.to, err = Score(s.quantiles, outcome); err != nil {
			return Grade{}, fmt.Errorf("grade %s: %w", r.ID, err)
		}
	}
	return g, nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Joined are quantiles as a line has them: with ";" between them.
func Joined(list []Decimal) string {
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = string(d)
	}
	return strings.Join(texts, ";")
}

// inputsHash returns the lower-case hex SHA-256 of the sorted lines "series|observed_at|vintage_at|value\n" of every value that a
// forecast read. Times are in RFC 3339 and UTC; a value has the fewest digits that restore it exactly.
func inputsHash(in series.Set, ids []series.ID) string {
	ids = slices.Sorted(slices.Values(ids))
	sum := sha256.New()
	for _, id := range ids {
		lines := make([]string, 0, len(in[id]))
		for _, p := range in[id] {
			lines = append(lines, string(id)+"|"+p.ObservedAt.String()+"|"+p.VintageAt.String()+"|"+
				strconv.FormatFloat(p.Value, 'g', -1, 64)+"\n")
		}
		slices.Sort(lines)
		for _, line := range lines {
			_, _ = io.WriteString(sum, line) // a hash takes everything
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

var hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// maxDigits bounds the whole part of a figure: no public one has more.
const maxDigits = 12

// takes reports whether a decimal has the form in which the figure is recorded.
func (t Target) takes(d Decimal) bool {
	if _, err := d.rat(); err != nil || strings.HasPrefix(string(d), "-0") && d.Float() == 0 {
		return false
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(string(d), "-"), ".")
	return len(whole) <= maxDigits && len(fraction) == t.Decimals
}

// ParseRecord reads a forecast's line. It takes what Line writes, and nothing else.
func ParseRecord(line string) (Record, error) {
	f := strings.Split(line, "|")
	if len(f) != 10 {
		return Record{}, fmt.Errorf("a forecast's line has %d fields, want 10", len(f))
	}
	figure, period, _ := strings.Cut(f[2], "/")
	at, err := time.Parse(time.RFC3339, f[3])
	if err != nil {
		return Record{}, fmt.Errorf("the time %q of a forecast: %w", f[3], err)
	}
	r := Record{
		ID: f[0], Signal: f[1], Figure: figure, Period: period, IssuedAt: at, ModelVersion: f[7], InputsHash: f[8], PreviousHash: f[9],
	}
	for i, to := range []*[]Decimal{&r.Quantiles, &r.Naive1, &r.Naive2} {
		if *to, err = parseQuantiles(f[4+i]); err != nil {
			return Record{}, fmt.Errorf("the forecast %s: %w", r.ID, err)
		}
	}
	t := Named(r.Signal, r.Figure)
	switch {
	case r.Line() != line:
		return Record{}, fmt.Errorf("the line of the forecast %s is not in its canonical form", r.ID)
	case t.Figure == "":
		return Record{}, fmt.Errorf("the forecast %s is of the unknown figure %s of %s", r.ID, r.Figure, r.Signal)
	case r.ID != t.Signal+"/"+t.Figure+"/"+r.Period:
		return Record{}, fmt.Errorf("the forecast %s is of %s/%s/%s", r.ID, r.Signal, r.Figure, r.Period)
	case !t.prints(r.Period):
		return Record{}, fmt.Errorf("the forecast %s is of %q, and no print of that figure is", r.ID, r.Period)
	case !hashForm.MatchString(r.InputsHash):
		return Record{}, fmt.Errorf("the forecast %s has %q in the place of its inputs' hash", r.ID, r.InputsHash)
	}
	for _, list := range [][]Decimal{r.Quantiles, r.Naive1, r.Naive2} {
		for _, d := range list {
			if !t.takes(d) {
				return Record{}, fmt.Errorf("the forecast %s has the quantile %s, want %d decimals", r.ID, d, t.Decimals)
			}
		}
	}
	return r, nil
}

func parseQuantiles(text string) ([]Decimal, error) {
	parts := strings.Split(text, ";")
	if len(parts) != len(Levels) {
		return nil, fmt.Errorf("%d quantiles, want %d", len(parts), len(Levels))
	}
	out := make([]Decimal, len(parts))
	last := math.Inf(-1)
	for i, part := range parts {
		out[i] = Decimal(part)
		x := out[i].Float()
		if math.IsNaN(x) || x < last {
			return nil, fmt.Errorf("the quantile %q is not a decimal number, or less than the one before", part)
		}
		last = x
	}
	return out, nil
}

// ParseGrade reads a grade's line. It takes what Line writes, and nothing else.
func ParseGrade(line string) (Grade, error) {
	f := strings.Split(line, "|")
	if len(f) != 8 {
		return Grade{}, fmt.Errorf("a grade's line has %d fields, want 8", len(f))
	}
	at, err := time.Parse(time.RFC3339, f[2])
	if err != nil {
		return Grade{}, fmt.Errorf("the time %q of a grade: %w", f[2], err)
	}
	g := Grade{
		ID: f[0], Outcome: Decimal(f[1]), PublishedAt: at, Score: Decimal(f[3]), Score1: Decimal(f[4]), Score2: Decimal(f[5]), PreviousHash: f[7],
	}
	if f[6] != "" {
		g.Flags = strings.Split(f[6], ",")
	}
	switch {
	case g.Line() != line:
		return Grade{}, fmt.Errorf("the line of the grade of %s is not in its canonical form", g.ID)
	case g.Outcome == "" != slices.Contains(g.Flags, FlagVoid):
		return Grade{}, fmt.Errorf("the grade of %s is void and has an outcome, or neither", g.ID)
	case slices.ContainsFunc(g.Flags, func(flag string) bool { return flag != FlagVoid && flag != FlagVintageBreak }):
		return Grade{}, fmt.Errorf("the grade of %s has an unknown flag in %q", g.ID, g.Flags)
	}
	return g, nil
}

// Published is a forecast in its public form: its line and its grade's line, which is empty until it is graded.
type Published struct{ Line, Hash, GradeLine, GradeHash string }

const (
	// gradeLag is how long after the last moment for a print a record may go on without a grade: the job may fail for some days.
	gradeLag = 7 * 24 * time.Hour
	// ClockSkew is how far ahead of the reader's clock a server's may be.
	ClockSkew = time.Hour
)

// Check verifies published forecasts, of all signals in the order of their chain, as any reader can. It hashes every line again, checks its
// link to the line before, computes every score again, and holds the times against the release that follows from figure and period. A print
// comes within the time that the target allows, or the forecast is given up: a record that goes on without either withholds a grade. now is the
// reader's clock. Check returns the records, the graded forecasts with an outcome, and a sentence for each fault.
func Check(list []Published, now time.Time) (records []Record, graded map[string]Graded, faults []string) {
	graded = map[string]Graded{}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	previous := NoRecord
	seen := map[string]bool{}
	grades := map[string]Grade{} // by the hash before
	var ungraded []Record
	var newest time.Time
	for _, p := range list {
		r, err := ParseRecord(p.Line)
		if err != nil {
			fault("%v", err)
			continue
		}
		if seen[r.ID] {
			fault("%s: it is listed twice", r.ID)
			continue
		}
		seen[r.ID] = true
		if n := len(records); n > 0 && r.IssuedAt.Before(records[n-1].IssuedAt) {
			fault("%s: it was issued at %s, before the one before it in the chain", r.ID, r.IssuedAt.Format(time.RFC3339))
		}
		records = append(records, r)
		if r.Hash() != p.Hash {
			fault("%s: the hash of its line is %s, %s is stated", r.ID, r.Hash(), p.Hash)
		}
		if r.PreviousHash != previous {
			fault("%s: it is linked to %s, the line before has %s", r.ID, r.PreviousHash, previous)
		}
		previous = r.Hash()
		target := Named(r.Signal, r.Figure)
		release, _ := target.ReleaseOf(r.Period)
		if !r.IssuedAt.Before(release.ScheduledAt) {
			fault("%s: it was issued at %s, when its figure was due since %s", r.ID, r.IssuedAt.Format(time.RFC3339), release.ScheduledAt.Format(time.RFC3339))
		}
		if r.IssuedAt.After(now.Add(ClockSkew)) {
			fault("%s: it was issued at %s, which is still to come", r.ID, r.IssuedAt.Format(time.RFC3339))
		}
		if r.IssuedAt.After(newest) {
			newest = r.IssuedAt
		}
		if p.GradeLine == "" {
			ungraded = append(ungraded, r)
			continue
		}
		g, err := ParseGrade(p.GradeLine)
		if err != nil {
			fault("%v", err)
			continue
		}
		if g.ID != r.ID || g.Hash() != p.GradeHash {
			fault("%s: its grade is of %s, or its hash is not that of its line", r.ID, g.ID)
		}
		if g.PublishedAt.Before(r.IssuedAt) {
			fault("%s: it was issued at %s, after its print of %s", r.ID, r.IssuedAt.Format(time.RFC3339), g.PublishedAt.Format(time.RFC3339))
		}
		if g.PublishedAt.After(now.Add(ClockSkew)) {
			fault("%s: its grade is of %s, which is still to come", r.ID, g.PublishedAt.Format(time.RFC3339))
		}
		if other, taken := grades[g.PreviousHash]; taken {
			fault("the grades of %s and %s are linked to the same one", other.ID, g.ID)
		}
		grades[g.PreviousHash] = g
		end := target.VoidAt(release)
		if g.Outcome == "" {
			if g.PublishedAt.Before(end) {
				fault("%s: it was given up at %s, a print may come until %s", r.ID, g.PublishedAt.Format(time.RFC3339), end.Format(time.RFC3339))
			}
			continue
		}
		if !g.PublishedAt.Before(end) {
			fault("%s: its print came at %s, and it is void since %s", r.ID, g.PublishedAt.Format(time.RFC3339), end.Format(time.RFC3339))
		}
		again, err := NewGrade(r, g.Outcome, g.PublishedAt, g.Flags)
		if err != nil || !target.takes(g.Outcome) {
			fault("%s: its outcome is %q", r.ID, g.Outcome)
			continue
		}
		if again.Score != g.Score || again.Score1 != g.Score1 || again.Score2 != g.Score2 {
			fault("%s: its scores are %s, %s and %s, the record says %s, %s and %s", r.ID, again.Score, again.Score1, again.Score2, g.Score, g.Score1, g.Score2)
		}
		graded[r.ID] = g.graded(r)
	}
	for _, r := range ungraded {
		target := Named(r.Signal, r.Figure)
		release, _ := target.ReleaseOf(r.Period)
		if end := target.VoidAt(release); !newest.Before(end.Add(gradeLag)) {
			fault("%s: it has no grade and was not given up, its print could come until %s, and the record goes on until %s", r.ID,
				end.Format(time.RFC3339), newest.Format(time.RFC3339))
		}
	}
	n := 0
	for hash := NoRecord; n < len(grades); n++ {
		g, ok := grades[hash]
		if !ok {
			fault("the grades are no chain: %d of %d hang together", n, len(grades))
			break
		}
		hash = g.Hash()
	}
	return records, graded, faults
}

// graded is a record with its grade as scorecards take it.
func (g Grade) graded(r Record) Graded {
	return Graded{
		Quantiles: floats(r.Quantiles), Naive1: floats(r.Naive1), Naive2: floats(r.Naive2),
		Outcome: g.Outcome.Float(), Score: g.Score.Float(), Score1: g.Score1.Float(), Score2: g.Score2.Float(),
	}
}

func floats(list []Decimal) (q Quantiles) {
	for i, d := range list {
		q[i] = d.Float()
	}
	return q
}
