package edgar

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const submissionsPath = "/submissions/"

// The parameters that identify the purpose of a request. The parser keeps no state, and the service ignores unknown parameters.
const (
	// fromParam is the first date of the wanted filings, if not all are wanted.
	fromParam = "tidemark_from"
	// moreParam lists the numbers of the older pages that are still to be asked for.
	moreParam = "tidemark_more"
)

var (
	submissionsFile = regexp.MustCompile(`^/submissions/CIK([0-9]{10})(?:-submissions-([0-9]{3,6}))?\.json$`)
	accessionForm   = regexp.MustCompile(`^[0-9]{10}-[0-9]{2}-[0-9]{6}$`)
)

// Submissions declares the companies of a universe and their filings. Each company has a response with its newest filings, at least a
// thousand or a year's, and further pages with the older ones. Only the beginning of a window is applied: pages that end before it are left
// out. Rows within a page are not, since they cost nothing. The source has no cadence: a company is requested when one of the other sources
// reports new data for it.
func Submissions(userAgent string, universe []equity.CIK) ingest.Source {
	return ingest.Source{
		ID: "edgar-submissions", Name: "SEC EDGAR, companies and their filings", Publisher: publisher, License: license,
		HomeURL: "https://www.sec.gov/search-filings/edgar-application-programming-interfaces",
		Limits:  jsonLimits(200),
		Request: func(w series.Window) ([]ingest.Request, error) {
			list, err := each(universe, func(c equity.CIK) string {
				a := "https://" + dataHost + submissionsPath + "CIK" + c.String() + ".json"
				if !w.From.IsZero() {
					a += "?" + url.Values{fromParam: {w.From.UTC().Format(time.DateOnly)}}.Encode()
				}
				return a
			})
			if err != nil {
				return nil, err
			}
			return requests(userAgent, list...)
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			u, err := address(r, dataHost)
			if err != nil {
				return wrap("filings", ingest.Batch{}, err)
			}
			id, m, err := companyIn(u.Path, submissionsFile)
			if err != nil {
				return wrap("filings", ingest.Batch{}, err)
			}
			var batch ingest.Batch
			if m[2] == "" {
				batch, err = parseCompany(r, id, u.Query())
			} else {
				batch, err = parseOlder(r, id, u.Query())
			}
			return wrap("the filings of "+id.String(), batch, err)
		},
	}
}

// filer is the part of the first answer that says who the company is.
type filer struct {
	CIK           cik       `json:"cik"`
	Name          string    `json:"name"`
	SIC           string    `json:"sic"`
	FiscalYearEnd string    `json:"fiscalYearEnd"`
	Tickers       []string  `json:"tickers"`
	Exchanges     []*string `json:"exchanges"`
	Addresses     struct {
		Business struct {
			StateOrCountry string `json:"stateOrCountry"`
		} `json:"business"`
	} `json:"addresses"`
	Filings *struct {
		Recent filingTable `json:"recent"`
		Files  []olderFile `json:"files"`
	} `json:"filings"`
}

// olderFile is the first response's entry for an older page.
type olderFile struct {
	Name string `json:"name"`
	To   string `json:"filingTo"`
}

// parseCompany reads the first answer.
func parseCompany(r ingest.Response, id equity.CIK, q url.Values) (ingest.Batch, error) {
	var f filer
	if err := whole(r.Body, &f); err != nil {
		return ingest.Batch{}, err
	}
	switch {
	case equity.CIK(f.CIK) != id:
		return ingest.Batch{}, fmt.Errorf("the answer is about the CIK %d", f.CIK)
	case f.Name == "":
		return ingest.Batch{}, errors.New("the company has no name")
	case f.Filings == nil:
		return ingest.Batch{}, errors.New("no member filings")
	}
	c := equity.Company{
		CIK: id, Name: f.Name, FiscalYearEnd: f.FiscalYearEnd, Location: strings.ToUpper(f.Addresses.Business.StateOrCountry),
	}
	var err error
	if f.SIC != "" {
		if c.SIC, err = strconv.Atoi(f.SIC); err != nil || c.SIC < 0 || c.SIC > 9999 {
			return ingest.Batch{}, fmt.Errorf("the industry code %.20q is not one of four digits", f.SIC)
		}
	}
	if f.FiscalYearEnd != "" && !isMonthDay(f.FiscalYearEnd) {
		return ingest.Batch{}, fmt.Errorf("the fiscal year ends on %.20q, want month and day", f.FiscalYearEnd)
	}
	for i, ticker := range f.Tickers {
		exchange := ""
		if i < len(f.Exchanges) && f.Exchanges[i] != nil {
			exchange = *f.Exchanges[i]
		}
		if l, ok := listed(ticker, exchange); ok {
			c.Listings = append(c.Listings, l)
		}
	}
	filings, err := f.Filings.Recent.filings(id)
	if err != nil {
		return ingest.Batch{}, err
	}
	older, err := wanted(f.Filings.Files, id, q.Get(fromParam))
	if err != nil {
		return ingest.Batch{}, err
	}
	return ingest.Batch{Companies: []equity.Company{c}, Filings: filings, Next: nextPage(r.Request, id, older)}, nil
}

// parseOlder reads a page of older filings.
func parseOlder(r ingest.Response, id equity.CIK, q url.Values) (ingest.Batch, error) {
	var t filingTable
	if err := whole(r.Body, &t); err != nil {
		return ingest.Batch{}, err
	}
	filings, err := t.filings(id)
	if err != nil {
		return ingest.Batch{}, err
	}
	var more []string
	if list := q.Get(moreParam); list != "" {
		more = strings.Split(list, ",")
	}
	for _, number := range more {
		if !submissionsFile.MatchString(olderPath(id, number)) {
			return ingest.Batch{}, fmt.Errorf("%s %.40q of the request lists no pages", moreParam, more)
		}
	}
	return ingest.Batch{Filings: filings, Next: nextPage(r.Request, id, more)}, nil
}

// wanted lists the numbers of the older pages with filings on or after a date; all pages if it is empty.
func wanted(files []olderFile, id equity.CIK, from string) ([]string, error) {
	var numbers []string
	for _, f := range files {
		m := submissionsFile.FindStringSubmatch(submissionsPath + f.Name)
		if m == nil || m[1] != id.String() || m[2] == "" {
			return nil, fmt.Errorf("%.80q names no older page of this company", f.Name)
		}
		if _, err := time.Parse(time.DateOnly, f.To); err != nil {
			return nil, fmt.Errorf("the page %s ends on %.40q, which is not a date", f.Name, f.To)
		}
		if f.To >= from && !slices.Contains(numbers, m[2]) {
			numbers = append(numbers, m[2])
		}
	}
	return numbers, nil
}

// nextPage is the request for the first of the older pages that are still to come, nil for none.
func nextPage(r ingest.Request, id equity.CIK, numbers []string) *ingest.Request {
	if len(numbers) == 0 {
		return nil
	}
	a := "https://" + dataHost + olderPath(id, numbers[0])
	if len(numbers) > 1 {
		a += "?" + url.Values{moreParam: {strings.Join(numbers[1:], ",")}}.Encode()
	}
	return follow(r, a)
}

func olderPath(id equity.CIK, number string) string {
	return submissionsPath + "CIK" + id.String() + "-submissions-" + number + ".json"
}

// filingTable is a list of filings as the service gives it: a list for each column. Columns that are not read are left out.
type filingTable struct {
	Accession []string  `json:"accessionNumber"`
	Filed     []string  `json:"filingDate"`
	Period    []string  `json:"reportDate"`
	Accepted  []string  `json:"acceptanceDateTime"`
	Form      []string  `json:"form"`
	Items     []string  `json:"items"`
	Document  []*string `json:"primaryDocument"`
}

// filings puts the columns together. The first of two rows with one accession number stands.
func (t filingTable) filings(id equity.CIK) ([]equity.Filing, error) {
	n := len(t.Accession)
	if t.Accession == nil || t.Filed == nil || t.Form == nil {
		return nil, errors.New("no columns accessionNumber, filingDate and form")
	}
	for name, length := range map[string]int{
		"filingDate": len(t.Filed), "form": len(t.Form), "reportDate": len(t.Period), "acceptanceDateTime": len(t.Accepted),
		"items": len(t.Items), "primaryDocument": len(t.Document),
	} {
		if length != n && (length != 0 || name == "filingDate" || name == "form") {
			return nil, fmt.Errorf("the column %s has %d rows, want %d", name, length, n)
		}
	}
	list := make([]equity.Filing, 0, n)
	held := make(map[string]bool, n)
	for i := range n {
		if held[t.Accession[i]] {
			continue
		}
		held[t.Accession[i]] = true
		f, err := t.filing(id, i)
		if err != nil {
			return nil, fmt.Errorf("filing %d, %.40q: %w", i, t.Accession[i], err)
		}
		list = append(list, f)
	}
	return list, nil
}

func (t filingTable) filing(id equity.CIK, i int) (equity.Filing, error) {
	f := equity.Filing{CIK: id, Accession: t.Accession[i], Form: t.Form[i]}
	if !accessionForm.MatchString(f.Accession) || f.Form == "" {
		return f, fmt.Errorf("want an accession number and a form, which is %.40q", f.Form)
	}
	var err error
	if f.Filed, err = date(t.Filed[i]); err != nil || f.Filed.IsZero() {
		return f, fmt.Errorf("it was filed on %.40q, want a date", t.Filed[i])
	}
	if f.Period, err = date(cell(t.Period, i)); err != nil {
		return f, fmt.Errorf("it is about %.40q, want a date", t.Period[i])
	}
	if f.AcceptedAt, err = accepted(cell(t.Accepted, i), f.Form, f.Filed); err != nil {
		return f, fmt.Errorf("it was accepted at %.40q, want an instant", t.Accepted[i])
	}
	if items := cell(t.Items, i); items != "" && strings.HasPrefix(f.Form, "8-K") {
		f.Items = strings.Split(strings.ReplaceAll(items, " ", ""), ",")
	}
	document := ""
	if d := cell(t.Document, i); d != nil {
		document = *d
	}
	f.URL = documentURL(id, f.Accession, document)
	return f, nil
}

// cell is a row of a column, the zero value where the answer does not have the column.
func cell[V any](column []V, i int) (v V) {
	if i < len(column) {
		return column[i]
	}
	return v
}

// documentURL is the URL of a filing's main document, or of the filing if no document is named.
func documentURL(id equity.CIK, accession, document string) string {
	if document == "" || strings.Contains(document, "..") {
		document = accession + "-index.htm"
	}
	u := url.URL{
		Scheme: "https", Host: filesHost,
		Path: fmt.Sprintf("/Archives/edgar/data/%d/%s/%s", int64(id), strings.ReplaceAll(accession, "-", ""), document),
	}
	return u.String()
}

// isMonthDay reports whether a text is a month and a day, such as 0926. 29 February is valid.
func isMonthDay(text string) bool {
	_, err := time.Parse("20060102", "2000"+text)
	return err == nil && len(text) == 4
}
