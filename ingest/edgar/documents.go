package edgar

import (
	"fmt"
	"net/http"
	"regexp"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

var documentFile = regexp.MustCompile(`^/Archives/edgar/data/([0-9]{1,10})/([0-9]{10})([0-9]{2})([0-9]{6})/[^/]+\.[hH][tT][mM][lL]?$`)

// documentBytes bounds a document. The largest annual reports are some 30 MB, because each of their figures is marked.
const documentBytes = 64 << 20

// Documents declares the main documents of some annual and quarterly reports, of which the section "Risk Factors" is read. A document never
// changes, so each version of the reader requests it once. The source has a schedule of its own: after the announcement of the day's pick, because what is
// fetched before would tell the pick. Reports without a main document in HTML are left out.
func Documents(userAgent string, reports []equity.Filing) ingest.Source {
	return ingest.Source{
		ID: "edgar-documents", Name: "SEC EDGAR, documents of reports", Publisher: publisher, License: license,
		HomeURL: "https://www.sec.gov/search-filings",
		Cadence: series.Cadence{Cron: "40 18 * * MON-FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval: interval, Timeout: 2 * time.Minute, MaxBytes: documentBytes, Pages: 1, Forbidden: forbidden,
			ContentTypes: []string{"text/html", "application/xhtml+xml"},
		},
		Request: func(series.Window) ([]ingest.Request, error) {
			var list []string
			for _, f := range reports {
				if f.HasDocument() {
					list = append(list, f.URL)
				}
			}
			asked, err := requests(userAgent, list...)
			for i := range asked {
				asked[i].Absent = []int{http.StatusNotFound}
			}
			return asked, err
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			risks, err := parseDocument(r)
			if err != nil {
				return wrap("a report", ingest.Batch{}, err)
			}
			return ingest.Batch{Risks: []equity.RiskFactors{risks}}, nil
		},
	}
}

func parseDocument(r ingest.Response) (equity.RiskFactors, error) {
	u, err := address(r, filesHost)
	if err != nil {
		return equity.RiskFactors{}, err
	}
	id, m, err := companyIn(u.Path, documentFile)
	if err != nil {
		return equity.RiskFactors{}, err
	}
	risks, err := readRisks(r.Body, r.Header.Get("Content-Type"))
	risks.CIK, risks.Accession, risks.Reader = id, fmt.Sprintf("%s-%s-%s", m[2], m[3], m[4]), equity.RiskReader
	return risks, err
}
