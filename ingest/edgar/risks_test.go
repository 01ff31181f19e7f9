package edgar_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/edgar"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

// The texts of the risks are invented; the marks around them are those of reports of real companies.
const (
	body    = "Our customers may buy less than we expect. If they do, we may earn less, and some of our sites may close sooner than is planned today."
	first   = "Demand for what we make may fall, and we may not be able to follow it."
	second  = "Our suppliers may fail to deliver what we need in time."
	third   = "Changes in laws may raise our costs."
	toc     = `<table><tr><td>Item 1.</td><td><a href="#a">Business</a></td><td>3</td></tr><tr><td>Item 1A.</td><td><a href="#b">Risk Factors</a></td><td>5</td></tr><tr><td>Item 1B.</td><td><a href="#c">Unresolved Staff Comments</a></td><td>17</td></tr></table>`
	inText  = "<p>Item 1A. Risk Factors of our report of last year says more, and we refer to it here.</p>"
	staff   = "<p><b>Item 1B. Unresolved Staff Comments</b></p><p>None.</p>"
	uppered = "<p><b>ITEM 1B. UNRESOLVED STAFF COMMENTS</b></p>"
)

var shapes = []struct {
	fact, page string
	want       equity.RiskFactors
}{
	{
		"headings in bold italics after a table of contents with the same titles",
		toc + "<p><b>Item 1. Business</b></p><p>" + body + "</p>" + inText + "<p><b>Item 1A. Risk Factors</b></p><p>" + body + "</p>" +
			"<p><b>Risks of our industry</b></p>" +
			"<p><b><i>" + first + "</i></b></p><p>" + body + "</p><p><b><i>" + second + "</i></b></p><p>" + body + "</p>" + staff,
		equity.RiskFactors{State: equity.RisksRead, Risks: []string{first, second}},
	},
	{
		"spans with styles, pieces of a heading, numbers of pages",
		`<div><span style="font-weight:700">Ite</span><span style="font-weight:700">m 1A.&#160;&#160;&#160;</span><span style="font-weight:700">Risk Factors</span></div>` +
			`<div><span style="color:#000;font-style:italic;font-weight:700">Demand for what we make may fall,</span><span style="font-style:italic;font-weight:700"> and we may not be able to follow it.</span></div>` +
			`<div><span style="font-weight:400">` + body + `</span></div><div>12</div><hr/><div><a href="#toc">Table of Contents</a></div>` +
			`<div style="font-weight:700"><span style="font-style:italic">` + second + `</span></div><div style="font-weight:400">` + body + "</div>" +
			`<div><span style="font-weight:bold">Item 1B.    Unresolved Staff Comments</span></div>`,
		equity.RiskFactors{State: equity.RisksRead, Risks: []string{first, second}},
	},
	{
		"number and title in the cells of a table, headings at the beginning of paragraphs",
		`<table><tr><td><b>ITEM 1A.</b></td><td><b>RISK FACTORS</b></td></tr></table>` +
			"<p><i>" + first + "</i> " + body + "</p><p><u>" + second + "</u> " + body + "</p><p><b>Laws and regulations</b> – " + body + "</p>" + uppered,
		equity.RiskFactors{State: equity.RisksRead, Risks: []string{first, second}},
	},
	{
		"title on a line of its own, headings with a colon",
		"<p>PART I</p><p><b>Item 1A:</b></p><p><b>RISK FACTORS</b></p>" +
			"<p><b>Competition may take our customers from us:</b> " + body + "</p><p><b>Laws may raise our costs:</b> " + body + "</p>" + staff,
		equity.RiskFactors{State: equity.RisksRead, Risks: []string{"Competition may take our customers from us:", "Laws may raise our costs:"}},
	},
	{
		"a heading that the end of a page divides, a section that goes on with its title",
		"<p><b>Item 1A. Risk Factors</b></p><p><b>Demand for what we make may fall, and</b></p><div>9</div><p><b>we may not be able to follow it.</b></p><p>" + body +
			"</p><p><b>Item 1A. Risk Factors (continued)</b></p><p><b>" + second + "</b></p><p>" + body + "</p>" + staff,
		equity.RiskFactors{State: equity.RisksRead, Risks: []string{first, second}},
	},
	{
		"no numbers of items",
		"<h2>Risk Factors</h2><h3>" + first + "</h3><p>" + body + "</p><h3>" + third + "</h3><p>" + body + "</p><h2>Unresolved Staff Comments</h2><p>None.</p>",
		equity.RiskFactors{State: equity.RisksRead, Risks: []string{first, third}},
	},
	{
		"paragraphs without headings",
		"<p><b>Item 1A. Risk Factors</b></p><p>" + body + "</p><p>" + strings.ReplaceAll(body, "customers", "suppliers") + "</p>" + staff,
		equity.RiskFactors{State: equity.RisksRead, ByParagraph: true, Risks: []string{body, strings.ReplaceAll(body, "customers", "suppliers")}},
	},
	{
		"a quarterly report in which nothing changed, on the heading's line",
		"<p><b>PART II. OTHER INFORMATION</b></p><p><b>Item 1A. Risk Factors.</b> There have been no material changes to the risk factors in our Form 10-K.</p>" +
			"<p><b>Item 2. Unregistered Sales of Equity Securities</b></p>",
		equity.RiskFactors{State: equity.RisksUnchanged},
	},
	{
		"a quarterly report with one risk more",
		"<p><b>Item 1A. Risk Factors</b></p><p>Except for the risk set forth below, there have been no material changes to the risk factors in our Form 10-K.</p>" +
			"<p><b><i>" + third + "</i></b></p><p>" + body + "</p><p><b>Item 2. Unregistered Sales of Equity Securities</b></p>",
		equity.RiskFactors{State: equity.RisksRead, Risks: []string{third}},
	},
	{
		"a quarterly report that names the annual report",
		"<p><b>Item 1A. Risk Factors</b></p><p>For information on risk factors, please refer to Part I, Item 1A of our Form 10-K.</p><p><b>Item 2. Other</b></p>",
		equity.RiskFactors{State: equity.RisksElsewhere},
	},
	{
		"a smaller company",
		"<p><b>Item 1A. Risk Factors</b></p><p>Not required for smaller reporting companies.</p>" + staff,
		equity.RiskFactors{State: equity.RisksOmitted},
	},
	{
		"another character set",
		"<meta charset=\"windows-1252\"><p><b>Item 1A. Risk Factors</b></p><p><b>The company\x92s customers may buy less than it expects.</b></p><p>" + body + "</p>" + staff,
		equity.RiskFactors{State: equity.RisksRead, Risks: []string{"The company's customers may buy less than it expects."}},
	},
	{"no such section", toc + "<p><b>Item 1. Business</b></p><p>" + body + "</p>" + inText + "<p><b>Item 2. Properties</b></p>", equity.RiskFactors{State: equity.RisksNotFound}},
	{"a section without an end", "<p><b>Item 1A. Risk Factors</b></p><p><b>" + first + "</b></p><p>" + body + "</p>", equity.RiskFactors{State: equity.RisksNotFound}},
	{"hidden text", `<div style="display:none"><p><b>Item 1A. Risk Factors</b></p><p><b>` + first + "</b></p><p>" + body + "</p>" + staff + "</div>", equity.RiskFactors{State: equity.RisksNotFound}},
}

func TestRiskFactorsOfReports(t *testing.T) {
	t.Parallel()
	src := edgar.Documents(agent, nil)
	for _, s := range shapes {
		batch, err := ingest.Parse(src, series.Fetch{
			URL: "https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/report.htm", Status: http.StatusOK,
			Header: map[string]string{"Content-Type": "text/html"},
		}, []byte("<html><body>"+s.page+"</body></html>"))
		if err != nil || len(batch.Risks) != 1 {
			t.Errorf("%s: %d sections (%v)", s.fact, len(batch.Risks), err)
			continue
		}
		got := batch.Risks[0]
		if read := got.State != equity.RisksNotFound; read != (got.Words > 0) {
			t.Errorf("%s: %s with %d words", s.fact, got.State, got.Words)
		}
		got.Words = 0
		s.want.CIK, s.want.Accession, s.want.Reader = apple, "0000320193-25-000079", equity.RiskReader
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.fact, diff)
		}
	}
}
