package view

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/internal/equity"
	"tidemark/picks"
)

// RiskFactors compares the section "Risk Factors" (item 1A) of a company's last two annual reports (10-K), and what its quarterly reports
// (10-Q) said since. All texts in it are those of the reports, in English.
type RiskFactors struct {
	// State is "compared"; "unlike" if the two sections are written too differently to be compared; "not_read" if they were not both read,
	// which does not say that nothing changed.
	State string `json:"state"`
	// Report is the newest annual report that was read, and Before the one before it, null for none.
	Report *RiskReport `json:"report"`
	Before *RiskReport `json:"before"`
	// Added are the risks that only Report has, Removed those that only Before has, by their headings; Same counts the headings of both.
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	// Reworded pairs headings of the two reports that share at least half of their words.
	Reworded []RewordedRisk `json:"reworded"`
	Same     int            `json:"same"`
	// Quarters are the quarterly reports after Report, the oldest first.
	Quarters []RiskQuarter `json:"quarters"`
	// ReadAt is when the newest of these reports was read, null if none was.
	ReadAt *time.Time `json:"read_at"`
}

// RiskReport is a report whose section "Risk Factors" was looked for.
type RiskReport struct {
	Form   string `json:"form"`
	Filed  string `json:"filed"`
	Period string `json:"period"`
	URL    string `json:"url"`
	// Section says what was found: "read"; "unchanged" if the section says that nothing material changed; "omitted" if it says that none are
	// required; "elsewhere" if it names another place; "not_found" if no such section was found.
	Section string `json:"section"`
	// Risks counts the headings, or the paragraphs if the section has no headings (ByParagraph). Words counts the words of the section.
	Risks       int  `json:"risks"`
	ByParagraph bool `json:"by_paragraph"`
	Words       int  `json:"words"`
}

// RiskSectionRead is the state of a section whose risks were read.
const RiskSectionRead = string(equity.RisksRead)

// RiskSections lists the states of a section.
func RiskSections() []string {
	return []string{
		RiskSectionRead, string(equity.RisksUnchanged), string(equity.RisksOmitted), string(equity.RisksElsewhere), string(equity.RisksNotFound),
	}
}

// RewordedRisk is a risk in the words of two reports.
type RewordedRisk struct {
	Before string `json:"before"`
	Now    string `json:"now"`
	// Similarity is the Jaccard index of the two sets of words.
	Similarity float64 `json:"similarity"`
}

// RiskQuarter is what a quarterly report says of risks.
type RiskQuarter struct {
	Report RiskReport `json:"report"`
	// Compared reports whether its risks were compared with those of the annual report. Added are not in the annual report; Repeated has the
	// headings that both have: a quarterly report repeats a risk to update it.
	Compared bool           `json:"compared"`
	Added    []string       `json:"added"`
	Repeated []string       `json:"repeated"`
	Reworded []RewordedRisk `json:"reworded"`
}

// riskChanges is the comparison of a company's reports, with how many reports it was made of.
type riskChanges struct {
	reports int
	changes RiskFactors
}

// readRisks compares the risk factors of companies of which more reports were read than before.
func (p *Publications) readRisks(ctx context.Context, known map[equity.CIK]riskChanges) (map[equity.CIK]riskChanges, error) {
	counts, err := p.o.Store.RiskCounts(ctx)
	if err != nil {
		return nil, err
	}
	var ids []equity.CIK
	for _, cik := range slices.Sorted(maps.Keys(counts)) {
		if known[cik].reports != counts[cik] {
			ids = append(ids, cik)
		}
	}
	if len(ids) == 0 {
		return known, nil
	}
	read, err := p.o.Store.RiskReports(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("compare risk factors: %w", err)
	}
	all := maps.Clone(known) // the current state still reads the old map
	if all == nil {
		all = map[equity.CIK]riskChanges{}
	}
	for cik, reports := range read {
		changes := riskFactors(picks.CompareRisks(reports))
		for _, r := range reports {
			if changes.ReadAt == nil || r.KnownAt.After(*changes.ReadAt) {
				changes.ReadAt = new(r.KnownAt.UTC())
			}
		}
		all[cik] = riskChanges{len(reports), changes}
	}
	return all, nil
}

// riskFactors returns the comparison of a company's reports. If none was read, it says so.
func (st *PublicationsState) riskFactors(cik equity.CIK) *RiskFactors {
	if c, ok := st.risks[cik]; ok {
		return &c.changes
	}
	return new(riskFactors(picks.CompareRisks(nil)))
}

func riskFactors(c picks.RiskChanges) RiskFactors {
	out := RiskFactors{
		State: string(c.State), Report: riskReport(c.Now), Before: riskReport(c.Before), Added: texts(c.Added), Removed: texts(c.Removed),
		Reworded: rewordedRisks(c.Reworded), Same: c.Same, Quarters: make([]RiskQuarter, len(c.Quarters)),
	}
	for i, q := range c.Quarters {
		out.Quarters[i] = RiskQuarter{
			Report: *riskReport(&q.Report), Compared: q.Compared, Added: texts(q.Added), Repeated: texts(q.Repeated), Reworded: rewordedRisks(q.Reworded),
		}
	}
	return out
}

func riskReport(r *picks.RiskReport) *RiskReport {
	if r == nil {
		return nil
	}
	return &RiskReport{
		Form: r.Filing.Form, Filed: r.Filing.Filed.Format(time.DateOnly), Period: r.Filing.Period.Format(time.DateOnly), URL: r.Filing.URL,
		Section: string(r.State), Risks: len(r.Risks), ByParagraph: r.ByParagraph, Words: r.Words,
	}
}

func rewordedRisks(list []picks.Reworded) []RewordedRisk {
	out := make([]RewordedRisk, len(list))
	for i, r := range list {
		out[i] = RewordedRisk{r.Before, r.Now, math.Round(100*r.Similarity) / 100}
	}
	return out
}

// texts is a list that JSON writes as [] if it is empty.
func texts(list []string) []string { return append([]string{}, list...) }
