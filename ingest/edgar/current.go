package edgar

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const (
	currentPath = "/cgi-bin/browse-edgar"
	// currentRows is the most that a page has, currentPages how many pages of one form are read. The busiest days bring about a
	// thousand current reports.
	currentRows  = 100
	currentPages = 20
)

// currentForms are requested singly. The service takes each as a prefix of a form's name: 10-K includes amendments.
var currentForms = []string{"8-K", "10-Q", "10-K", "20-F", "40-F", "6-K", "25"}

// Current declares the newest filings of all companies, for the forms that matter here, from the last business day or so, minutes after the
// SEC took them. It shows which companies to request: in the morning for the filings of the evening, and after the close. Only the
// beginning of a window is applied: reading ends with the first page that reaches back before it.
func Current(userAgent string) ingest.Source {
	return ingest.Source{
		ID: "edgar-current", Name: "SEC EDGAR, newest filings", Publisher: publisher, License: license,
		HomeURL: "https://www.sec.gov/edgar/searchedgar/currentevents",
		Cadence: series.Cadence{Cron: "5 8,17 * * MON-FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval: interval, Timeout: time.Minute, MaxBytes: 4 << 20, Pages: currentPages, Forbidden: forbidden,
			ContentTypes: []string{"application/atom+xml", "application/xml", "text/xml"},
		},
		Request: func(w series.Window) ([]ingest.Request, error) {
			list := make([]string, len(currentForms))
			for i, form := range currentForms {
				q := url.Values{
					"action": {"getcurrent"}, "type": {form}, "owner": {"include"}, "start": {"0"},
					"count": {strconv.Itoa(currentRows)}, "output": {"atom"},
				}
				if !w.From.IsZero() {
					q.Set(fromParam, w.From.UTC().Format(time.RFC3339))
				}
				list[i] = "https://" + filesHost + currentPath + "?" + q.Encode()
			}
			return requests(userAgent, list...)
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			batch, err := parseCurrent(r)
			return wrap("the newest filings", batch, err)
		},
	}
}

// entry is one filing of one filer. A filing of several has an entry for each.
type entry struct {
	Title string `xml:"title"`
	Link  struct {
		Href string `xml:"href,attr"`
	} `xml:"link"`
	Summary  string `xml:"summary"`
	Updated  string `xml:"updated"`
	Category struct {
		Term string `xml:"term,attr"`
	} `xml:"category"`
	ID string `xml:"id"`
}

func parseCurrent(r ingest.Response) (ingest.Batch, error) {
	u, err := address(r, filesHost)
	if err != nil {
		return ingest.Batch{}, err
	}
	q := u.Query()
	start, err := strconv.Atoi(q.Get("start"))
	if u.Path != currentPath || err != nil || start < 0 {
		return ingest.Batch{}, errors.New("the request asks for no page of the list")
	}
	var feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Entries []entry  `xml:"entry"`
	}
	d := xml.NewDecoder(bytes.NewReader(r.Body))
	d.CharsetReader = latin1
	if err := d.Decode(&feed); err != nil {
		return ingest.Batch{}, fmt.Errorf("want an Atom feed: %w", err)
	}
	var batch ingest.Batch
	type identity struct {
		company   equity.CIK
		accession string
	}
	held := map[identity]bool{}
	oldest := time.Time{}
	for i, e := range feed.Entries {
		f, err := e.filing()
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("entry %d, %.80q: %w", i, e.Title, err)
		}
		oldest = f.AcceptedAt
		if id := (identity{f.CIK, f.Accession}); !held[id] { // a person may be filer and subject at once
			held[id] = true
			batch.Filings = append(batch.Filings, f)
		}
	}
	from := time.Time{}
	if text := q.Get(fromParam); text != "" {
		if from, err = time.Parse(time.RFC3339, text); err != nil {
			return ingest.Batch{}, fmt.Errorf("%s %.40q of the request is not an instant", fromParam, text)
		}
	}
	next := start + currentRows
	if len(feed.Entries) >= currentRows && next < currentRows*currentPages && oldest.After(from) {
		q.Set("start", strconv.Itoa(next))
		u.RawQuery = q.Encode()
		batch.Next = follow(r.Request, u.String())
	}
	return batch, nil
}

var (
	entryTitle = regexp.MustCompile(`\(([0-9]{1,10})\) \([A-Za-z ]+\)\s*$`)
	entryID    = regexp.MustCompile(`accession-number=([0-9]{10}-[0-9]{2}-[0-9]{6})$`)
	entryFiled = regexp.MustCompile(`Filed:(?:</b>)?\s*([0-9]{4}-[0-9]{2}-[0-9]{2})`)
	entryItem  = regexp.MustCompile(`(?m)Item\s+([0-9]{1,2}(?:\.[0-9]{2})?):`)
)

// filing reads an entry. The page is the filing's index: the feed does not name its main document.
func (e entry) filing() (equity.Filing, error) {
	f := equity.Filing{Form: strings.TrimSpace(e.Category.Term), URL: e.Link.Href}
	title, id, filed := entryTitle.FindStringSubmatch(strings.TrimSpace(e.Title)), entryID.FindStringSubmatch(e.ID), entryFiled.FindStringSubmatch(e.Summary)
	switch {
	case title == nil:
		return f, errors.New("the title names no filer")
	case id == nil:
		return f, fmt.Errorf("the id %.80q has no accession number", e.ID)
	case filed == nil:
		return f, errors.New("the summary has no date of filing")
	case f.Form == "":
		return f, errors.New("the category names no form")
	}
	n, err := strconv.ParseInt(title[1], 10, 64)
	if err != nil || n <= 0 {
		return f, fmt.Errorf("the title names the CIK %s", title[1])
	}
	f.CIK, f.Accession = equity.CIK(n), id[1]
	if f.Filed, err = time.Parse(time.DateOnly, filed[1]); err != nil {
		return f, fmt.Errorf("it was filed on %s, want a date", filed[1])
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(e.Updated))
	if err != nil {
		return f, fmt.Errorf("it was updated at %.40q, want an instant", e.Updated)
	}
	f.AcceptedAt = at.UTC()
	if strings.HasPrefix(f.Form, "8-K") {
		for _, m := range entryItem.FindAllStringSubmatch(e.Summary, -1) {
			f.Items = append(f.Items, m[1])
		}
	}
	return f, nil
}

// latin1 reads ISO-8859-1, in which the feed is written: each byte is the character of that number.
func latin1(charset string, input io.Reader) (io.Reader, error) {
	if !strings.EqualFold(charset, "iso-8859-1") {
		return nil, fmt.Errorf("the character set %.40q, want ISO-8859-1 or UTF-8", charset)
	}
	raw, err := io.ReadAll(input)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, b := range raw {
		text.WriteRune(rune(b))
	}
	return strings.NewReader(text.String()), nil
}
