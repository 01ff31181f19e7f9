package edgar

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"time"
)

const archivesPath = "/Archives/edgar/data/{cik}/{accession}/{file}"

// document writes the main document of an annual or quarterly report, as far as it is read: with its table of contents, and the section
// "Risk Factors".
func (s *sandbox) document(r *http.Request) ([]byte, string) {
	id, _, err := companyIn(r.URL.Path, documentFile)
	f := s.byCIK[id]
	if err != nil || f == nil {
		return nil, ""
	}
	for _, e := range f.until(s.now()) {
		if strings.ReplaceAll(e.accession, "-", "") == r.PathValue("accession") && e.document == r.PathValue("file") &&
			(e.form == "10-K" || e.form == "10-Q") {
			return []byte(f.writeReport(e)), typeHTML
		}
	}
	return nil, ""
}

// inventedRisks are the risks of the invented companies, each in two wordings.
var inventedRisks = [][2]string{
	{
		"We face intense competition, and competitors may offer lower prices or better products than ours.",
		"We face intense competition, and new competitors may offer lower prices or better services than ours.",
	},
	{"A loss of large customers would reduce our revenue.", "The loss of one or more large customers would reduce our revenue and our margins."},
	{
		"Interruptions at our suppliers could delay our deliveries and raise our costs.",
		"Interruptions at our suppliers, or shortages of materials, could delay our deliveries and raise our costs.",
	},
	{
		"Attacks on our information systems could interrupt our business and expose confidential data.",
		"Attacks on our information systems, and on those of our suppliers, could interrupt our business and expose confidential data.",
	},
	{
		"Changes in tax laws could increase what we pay and reduce our net income.",
		"Changes in tax laws, or in how they are applied, could increase what we pay and reduce our net income.",
	},
	{"We depend on key employees and may not be able to replace them.", "We depend on key employees, and we may not be able to keep or replace them."},
	{
		"Our debt limits what we can spend, and we may not be able to refinance it on good terms.",
		"Our debt limits what we can spend and invest, and we may not be able to refinance it on good terms.",
	},
	{
		"Changes in exchange rates affect the results of our business in other countries.",
		"Changes in exchange rates and in interest rates affect the results of our business in other countries.",
	},
	{
		"Severe weather could damage our sites and interrupt our operations.",
		"Severe weather and other natural events could damage our sites and interrupt our operations.",
	},
	{
		"We are subject to lawsuits whose outcome we cannot predict.",
		"We are subject to lawsuits and investigations whose outcome and cost we cannot predict.",
	},
	{
		"Tariffs and limits on trade could raise the prices of what we buy and sell.",
		"New tariffs and limits on trade could raise the prices of what we buy and reduce what we sell.",
	},
	{
		"Acquisitions may cost more and earn less than we expect.",
		"Acquisitions and divestitures may cost more and earn less than we expect.",
	},
	{"The price of our shares may fluctuate, whatever our results are.", "The price of our shares may fluctuate widely, whatever our results are."},
	{
		"Rules on the use of artificial intelligence may limit our products and raise our costs.",
		"New rules on the use of artificial intelligence may limit our products and raise our costs.",
	},
}

// writeReport writes a report in one of the forms that companies use. Every eighth company's reports have no section that a program finds.
func (f *filings) writeReport(e event) string {
	annual := e.form == "10-K"
	var b strings.Builder
	name := html.EscapeString(f.company.Name)
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html><head><title>%s</title></head>\n<body>\n<div>%s</div>\n<div>FORM %s</div>\n<div>%s</div>\n",
		name, html.EscapeString(syntheticNote), e.form, name)
	items := [][2]string{{"Item 1.", "Business"}, {"Item 1A.", "Risk Factors"}, {"Item 1B.", "Unresolved Staff Comments"}, {"Item 2.", "Properties"}}
	if !annual {
		items = [][2]string{{"Item 1.", "Legal Proceedings"}, {"Item 1A.", "Risk Factors"}, {"Item 2.", "Unregistered Sales of Equity Securities and Use of Proceeds"}}
	}
	b.WriteString("<div>Table of Contents</div>\n<table>\n")
	for i, item := range items {
		fmt.Fprintf(&b, "<tr><td>%s</td><td><a href=\"#i%d\">%s</a></td><td>%d</td></tr>\n", item[0], i, item[1], 4+3*i)
	}
	b.WriteString("</table>\n")
	shape := f.company.CIK % 8
	for i, item := range items {
		switch {
		case item[0] == "Item 1A." && shape == 7:
			continue
		case shape%3 == 1: // the number and the title in two cells
			fmt.Fprintf(&b, "<table id=\"i%d\"><tr><td><b>%s</b></td><td><b>%s</b></td></tr></table>\n", i, item[0], item[1])
		case shape%3 == 2: // a heading in pieces
			fmt.Fprintf(&b, "<div id=\"i%d\"><span style=\"font-weight:700\">%s</span><span style=\"font-weight:700\">%s&#160;&#160;%s</span></div>\n",
				i, item[0][:3], item[0][3:], item[1])
		default:
			fmt.Fprintf(&b, "<p id=\"i%d\"><b>%s %s</b></p>\n", i, strings.ToUpper(item[0]), strings.ToUpper(item[1]))
		}
		if item[0] != "Item 1A." {
			b.WriteString("<p>As the form says. " + html.EscapeString(syntheticNote) + "</p>\n")
			continue
		}
		risks := f.risksOf(e)
		if !annual && len(risks) == 0 {
			b.WriteString("<p>There have been no material changes to the risk factors in our Annual Report on Form 10-K.</p>\n")
			continue
		}
		intro := "The risks below are invented. Each could affect our business, and others that we do not know could, too."
		if !annual {
			intro = "Except for the risk below, there have been no material changes to the risk factors in our Annual Report on Form 10-K."
		}
		fmt.Fprintf(&b, "<p>%s</p>\n", intro)
		for n, risk := range risks {
			writeRisk(&b, shape, risk)
			if n%5 == 4 {
				fmt.Fprintf(&b, "<div style=\"text-align:center\">%d</div>\n<hr/>\n<div><a href=\"#toc\">Table of Contents</a></div>\n", 7+n)
			}
		}
	}
	b.WriteString("</body></html>\n")
	return b.String()
}

func writeRisk(b *strings.Builder, shape int64, risk string) {
	const text = "This is invented text. It says in more words what the heading says, as the reports of companies do, and it names no figure."
	risk = html.EscapeString(risk)
	switch shape % 4 {
	case 0:
		fmt.Fprintf(b, "<p><b><i>%s</i></b></p>\n<p>%s</p>\n", risk, text)
	case 1:
		fmt.Fprintf(b, "<p><i>%s</i> %s</p>\n", risk, text)
	case 2:
		fmt.Fprintf(b, "<div><span style=\"font-style:italic;font-weight:700\">%s</span></div>\n<div><span style=\"font-weight:400\">%s</span></div>\n", risk, text)
	default:
		fmt.Fprintf(b, "<p><u>%s</u></p>\n<p>%s</p>\n", risk, text)
	}
}

// risksOf draws the risks of a report. Most stay from one year to the next. A quarterly report has at most one.
func (f *filings) risksOf(e event) []string {
	at := func(n int) time.Time { return e.period.AddDate(0, 0, n) }
	if e.form != "10-K" {
		if !f.risks.Chance(at(0), 0.2) {
			return nil
		}
		n := int(f.risks.Uniform(at(1)) * float64(len(inventedRisks)))
		return []string{inventedRisks[n][1]}
	}
	var list []string
	for n, wordings := range inventedRisks {
		drawn := f.risks.Uniform(at(n))
		switch {
		case drawn < 0.1:
		case drawn < 0.2:
			list = append(list, wordings[1])
		default:
			list = append(list, wordings[0])
		}
	}
	return slices.Clip(list)
}
