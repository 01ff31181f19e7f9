package fed

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// The sentences that are read. The decision comes before the dissents, whose authors may name another range.
var (
	rangePattern = regexp.MustCompile(`target range for the federal funds rate (?:by [0-9./-]+ (?:of a )?percentage points?,? )?(?:at|to) ([0-9/-]+) to ([0-9/-]+) percent`)
	countPattern = regexp.MustCompile(`by an? ([0-9]{1,2}) ?- ?([0-9]{1,2}) vote`)
	forPattern   = regexp.MustCompile(`Voting for (?:the|this) (?:\w+ ){0,3}action (?:was|were):? `)
	// againstPattern also meets the form in which only the dissents are listed.
	againstPattern = regexp.MustCompile(`Voting against (?:the|this) (?:\w+ ){0,3}action (?:was|were):? `)
	namePattern    = regexp.MustCompile(`\b[A-Z][a-z]+ (?:[A-Z]\. )?[A-Z][A-Za-z'-]+`)
	// endPattern is the full stop of a sentence; the one of an initial or of "Jr." does not match.
	endPattern = regexp.MustCompile(`[a-z0-9]{2}\.(?: |$)`)
)

// parseStatement reads a decision: the target range, and the votes if they can be read.
func parseStatement(day time.Time, body []byte) (ingest.Batch, error) {
	text, err := ingest.PageText(body)
	if err != nil {
		return ingest.Batch{}, err
	}
	found := rangePattern.FindStringSubmatch(text)
	if found == nil {
		return ingest.Batch{}, errors.New("no target range for the federal funds rate")
	}
	low, lerr := mixed(found[1])
	high, herr := mixed(found[2])
	if err := errors.Join(lerr, herr); err != nil {
		return ingest.Batch{}, err
	}
	if low >= high {
		return ingest.Batch{}, fmt.Errorf("a target range from %s to %s percent", found[1], found[2])
	}
	b := ingest.Batch{Readings: []series.Reading{{Series: lower, ObservedAt: day, Value: low}, {Series: upper, ObservedAt: day, Value: high}}}
	if yes, no, ok := count(text); ok {
		b.Readings = append(b.Readings,
			series.Reading{Series: votes, ObservedAt: day, Value: float64(yes)}, series.Reading{Series: dissent, ObservedAt: day, Value: float64(no)})
	}
	return b, nil
}

// count counts the votes: as they are stated since 2026, or by the names of the members, which stood between semicolons before.
func count(text string) (yes, no int, ok bool) {
	if m := countPattern.FindStringSubmatch(text); m != nil {
		yes, _ = strconv.Atoi(m[1]) // digits
		no, _ = strconv.Atoi(m[2])
		return yes, no, yes > no
	}
	members, ok := sentence(text, forPattern)
	if !ok {
		return 0, 0, false
	}
	yes = strings.Count(members, ";") + 1
	if against, ok := sentence(text, againstPattern); ok {
		no = len(namePattern.FindAllString(against, -1))
		if no == 0 {
			return 0, 0, false
		}
	}
	return yes, no, yes > no
}

// sentence is the rest of a sentence after its beginning.
func sentence(text string, beginning *regexp.Regexp) (string, bool) {
	at := beginning.FindStringIndex(text)
	if at == nil {
		return "", false
	}
	rest := text[at[1]:]
	if end := endPattern.FindStringIndex(rest); end != nil {
		rest = rest[:end[0]+2]
	}
	return rest, true
}

// mixed reads a number as the Committee writes it: 4, 1/4, 3-3/4.
func mixed(s string) (float64, error) {
	whole, fraction, both := strings.Cut(s, "-")
	if !both && strings.Contains(s, "/") {
		whole, fraction = "0", s
	}
	v, err := strconv.Atoi(whole)
	if err != nil || v > 99 {
		return 0, fmt.Errorf("%.20q is not a rate", s)
	}
	if fraction == "" {
		return float64(v), nil
	}
	above, below, _ := strings.Cut(fraction, "/")
	n, nerr := strconv.Atoi(above)
	d, derr := strconv.Atoi(below)
	if nerr != nil || derr != nil || n <= 0 || n >= d || d > 16 {
		return 0, fmt.Errorf("%.20q is not a rate", s)
	}
	return float64(v) + float64(n)/float64(d), nil
}
