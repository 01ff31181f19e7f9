package picks

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"tidemark/internal/equity"
)

// RiskReport is a report with the content of its section on risks.
type RiskReport struct {
	equity.RiskFactors
	Filing equity.Filing
	// KnownAt is when the document was read.
	KnownAt time.Time
}

// RiskComparison says whether the risk factors of two annual reports could be compared.
type RiskComparison string

const (
	// RisksCompared means that both were read.
	RisksCompared RiskComparison = "compared"
	// RisksUnlike means that both were read and have too little in common: they are written, or were divided, too differently.
	RisksUnlike RiskComparison = "unlike"
	// RisksNotRead means that the risk factors of at least one of two annual reports were not read. It does not say that nothing changed.
	RisksNotRead RiskComparison = "not_read"
)

// Reworded is a risk that two reports put in different words.
type Reworded struct {
	Before, Now string
	// Similarity is the Jaccard index of the two sets of words.
	Similarity float64
}

// RiskChanges are the changes in the risk factors between two reports. The texts are quoted from the reports, in English.
type RiskChanges struct {
	State RiskComparison
	// Now and Before are the last two annual reports, nil for none.
	Now, Before *RiskReport
	// Added are in Now alone, Removed in Before alone, each in the order of its report. Same counts the risks that both have.
	Added, Removed []string
	Reworded       []Reworded
	Same           int
	// Quarters are the quarterly reports after Now, the oldest first.
	Quarters []QuarterRisks
}

// QuarterRisks are the risks in a quarterly report.
type QuarterRisks struct {
	Report RiskReport
	// Compared reports whether the lists below are known. Added and Reworded are compared with the annual report, Repeated are the risks
	// that the annual report has under the same heading: a quarterly report repeats what it updates. Nothing is concluded from what it
	// leaves out.
	Compared        bool
	Added, Repeated []string
	Reworded        []Reworded
}

const (
	// alike is the minimum similarity of two headings of the same risk.
	alike = 0.5
	// minShared is the share of the shorter list that two reports have in common, or reworded, if they are compared.
	minShared = 1.0 / 3
)

// CompareRisks compares the last two annual reports among the reports of a company, which are in the order of their days, and the quarterly
// reports after them with the last.
func CompareRisks(reports []RiskReport) RiskChanges {
	c := RiskChanges{State: RisksNotRead}
	for i := range reports {
		r := &reports[i]
		if r.Filing.Form == "10-Q" {
			if c.Now != nil {
				c.Quarters = append(c.Quarters, QuarterRisks{Report: *r})
			}
			continue
		}
		c.Before, c.Now, c.Quarters = c.Now, r, nil
	}
	if c.Now == nil || c.Now.State != equity.RisksRead {
		return c
	}
	for i := range c.Quarters {
		q := &c.Quarters[i]
		if q.Report.State != equity.RisksRead || q.Report.ByParagraph != c.Now.ByParagraph {
			continue
		}
		d := compareTexts(c.Now.Risks, q.Report.Risks)
		q.Compared, q.Added, q.Repeated, q.Reworded = true, d.added, d.same, d.reworded
	}
	if c.Before == nil || c.Before.State != equity.RisksRead {
		return c
	}
	d := compareTexts(c.Before.Risks, c.Now.Risks)
	shorter := min(len(c.Before.Risks), len(c.Now.Risks))
	if c.Before.ByParagraph != c.Now.ByParagraph || float64(len(d.same)+len(d.reworded)) < minShared*float64(shorter) {
		c.State = RisksUnlike
		return c
	}
	c.State, c.Added, c.Removed, c.Reworded, c.Same = RisksCompared, d.added, d.removed, d.reworded, len(d.same)
	return c
}

type difference struct {
	added, removed, same []string
	reworded             []Reworded
}

// compareTexts compares two lists of texts as sets. Of the texts that only one has, the most similar are paired, as long as they are alike.
func compareTexts(before, now []string) (d difference) {
	had := map[string]bool{}
	for _, t := range before {
		had[plainText(t)] = true
	}
	has := map[string]bool{}
	var fresh []string
	for _, t := range now {
		key := plainText(t)
		switch {
		case has[key]:
		case had[key]:
			d.same = append(d.same, t)
		default:
			fresh = append(fresh, t)
		}
		has[key] = true
	}
	gone := slices.DeleteFunc(slices.Clone(before), func(t string) bool { return has[plainText(t)] })
	type pair struct {
		from, to int
		like     float64
	}
	var pairs []pair
	for i, a := range gone {
		for j, b := range fresh {
			if like := jaccard(wordsOf(a), wordsOf(b)); like >= alike {
				pairs = append(pairs, pair{i, j, like})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.like, a.like) })
	left, found := make([]bool, len(gone)), make([]bool, len(fresh))
	matched := make([]*Reworded, len(fresh))
	for _, p := range pairs {
		if !left[p.from] && !found[p.to] {
			left[p.from], found[p.to] = true, true
			matched[p.to] = &Reworded{gone[p.from], fresh[p.to], p.like}
		}
	}
	for j, t := range fresh {
		if m := matched[j]; m != nil {
			d.reworded = append(d.reworded, *m)
		} else {
			d.added = append(d.added, t)
		}
	}
	for i, t := range gone {
		if !left[i] {
			d.removed = append(d.removed, t)
		}
	}
	return d
}

// wordsOf are the words of a text in lower case. Marks and typography are no part of a word.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "'", "")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func plainText(text string) string { return strings.Join(wordsOf(text), " ") }

// jaccard is the number of words in both sets, divided by the number in either (Jaccard, 1912).
func jaccard(a, b []string) float64 {
	in := map[string]int{}
	for _, w := range a {
		in[w] |= 1
	}
	for _, w := range b {
		in[w] |= 2
	}
	both := 0
	for _, sets := range in {
		if sets == 3 {
			both++
		}
	}
	if len(in) == 0 {
		return 0
	}
	return float64(both) / float64(len(in))
}
