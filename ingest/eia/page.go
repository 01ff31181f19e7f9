package eia

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gocolly/colly/v2"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// userAgent replaces colly's own name. No server sees it: the transport below uses no network.
const userAgent = "tidemark"

// pageRequests asks for the history page of each series. A page is always the whole history: the window is not used.
func (g group) pageRequests(series.Window) ([]ingest.Request, error) {
	requests := make([]ingest.Request, len(g.histories))
	for i, h := range g.histories {
		requests[i] = ingest.Request{URL: g.pageURL(h)}
	}
	return requests, nil
}

func (g group) pageURL(h history) string {
	return "https://" + pageHost + pagePath + "?n=PET&s=" + h.id + "&f=" + g.letter
}

// title is the expected title of the page. EIA puts a word before it on weekly pages and doubles blanks; neither is compared.
func (h history) title() string { return h.name + " (" + h.unit + ")" }

// parsePage reads a history page. It covers the series from its beginning to the newest date that has a value.
func (g group) parsePage(query url.Values, r ingest.Response) (ingest.Batch, error) {
	h, err := g.history(query.Get("s"))
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse eia history page: %w", err)
	}
	if letter := query.Get("f"); !strings.EqualFold(letter, g.letter) {
		return ingest.Batch{}, fmt.Errorf("parse eia history page of %s: frequency %q, want %q", h.id, letter, g.letter)
	}
	page, err := scrape(r)
	if err == nil {
		err = page.check(h, r.Body)
	}
	var found readings
	if err == nil {
		found, err = page.readings(g, h)
	}
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse eia history page of %s: %w", h.id, err)
	}
	newest := found.list[0].ObservedAt
	for _, v := range found.list {
		if v.ObservedAt.After(newest) {
			newest = v.ObservedAt
		}
	}
	if newest.After(page.released) {
		return ingest.Batch{}, fmt.Errorf("parse eia history page of %s: a value is of %s, after the page's release on %s",
			h.id, newest.Format(time.DateOnly), page.released.Format(time.DateOnly))
	}
	return ingest.Batch{
		Readings: found.list,
		Covers:   []ingest.Coverage{{Series: h.series(), Window: series.Window{To: newest}}},
	}, nil
}

// scraped is the content of a history page, still as text.
type scraped struct {
	title string
	// text is the text of the whole page, for the release date.
	text     string
	released time.Time
	rows     []row
}

// row is a table row whose first cell is of class B6, the class of a week or month. Cells are the others.
type row struct {
	head  string
	cells []cell
}

type cell struct {
	class, text string
	// at and length give the position of the text in the body. Only locate sets them.
	at, length int
}

// scrape collects the parts of a page with a colly collector that exists for this one call and whose transport returns the archived
// bytes. Nothing is fetched, nothing outlives the call, and the same bytes always give the same parts. NewCollector is not used because
// it reads settings from the environment.
func scrape(r ingest.Response) (*scraped, error) {
	c := &colly.Collector{}
	c.Init()
	c.AllowURLRevisit = true // one collector, one visit: keep no list of visited pages
	c.MaxBodySize = 0        // the engine has bounded the body; colly would cut it silently
	c.UserAgent = userAgent
	c.SetClient(&http.Client{Transport: archived{r}})

	page := &scraped{}
	c.OnHTML("title", func(e *colly.HTMLElement) {
		if page.title == "" {
			page.title = clean(e.Text)
		}
	})
	c.OnHTML("body", func(e *colly.HTMLElement) { page.text = clean(e.Text) })
	c.OnHTML("td.B6", func(e *colly.HTMLElement) {
		found := row{head: clean(e.Text)}
		siblings := e.DOM.NextAll()
		for i := range siblings.Length() {
			s := siblings.Eq(i)
			found.cells = append(found.cells, cell{class: s.AttrOr("class", ""), text: clean(s.Text())})
		}
		page.rows = append(page.rows, found)
	})
	if err := c.Visit(r.Request.URL); err != nil {
		return nil, fmt.Errorf("read html: %w", err)
	}
	return page, nil
}

// archived is the transport that answers with one archived body.
type archived struct{ response ingest.Response }

// RoundTrip answers every request. Only the content type of the archived headers is kept: the body is stored decoded, so that a
// content encoding would be undone twice. A body that names no character set and is not UTF-8 is taken for Windows-1252, which
// EIA's older pages and files use.
func (a archived) RoundTrip(req *http.Request) (*http.Response, error) {
	contentType := a.response.Header.Get("Content-Type")
	if contentType == "" {
		contentType = "text/html"
	}
	if !strings.Contains(strings.ToLower(contentType), "charset") && !utf8.Valid(a.response.Body) {
		contentType += "; charset=windows-1252"
	}
	return &http.Response{
		StatusCode: http.StatusOK,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{"Content-Type": {contentType}},
		Body:       io.NopCloser(bytes.NewReader(a.response.Body)),
		Request:    req,
	}, nil
}

// check refuses a page that is another one, or not whole: what is missing from a page counts as withdrawn, so that half a page
// must never be read. The order matters for the reader of the message: what page it is comes first.
func (p *scraped) check(h history, body []byte) error {
	title := strings.ToLower(p.title)
	switch {
	case !strings.Contains(title, strings.ToLower(h.name)):
		return fmt.Errorf("title is %.200q, want %q", p.title, h.title())
	case !strings.Contains(title, strings.ToLower(h.title())):
		return fmt.Errorf("title is %.200q, want the unit %q", p.title, h.unit)
	}
	lower := bytes.ToLower(body)
	lastRow := bytes.LastIndex(lower, []byte("<tr"))
	for _, end := range []string{"</table>", "</html>"} {
		if bytes.LastIndex(lower, []byte(end)) < lastRow {
			return fmt.Errorf("page is cut short: no %s after its last row", end)
		}
	}
	stated, ok := releaseDate(p.text)
	if !ok {
		return errors.New("page is cut short: it states no release date")
	}
	released, err := time.Parse("1/2/2006", stated)
	if err != nil {
		return fmt.Errorf("release date is %.60q, want month/day/year", stated)
	}
	p.released = released
	return nil
}

// releaseDate finds what follows "Release Date:" in the text of a page, "Next Release Date:" aside.
func releaseDate(text string) (string, bool) {
	const label, next = "Release Date:", "Next "
	for {
		before, after, found := strings.Cut(text, label)
		if !found {
			return "", false
		}
		if !strings.HasSuffix(before, next) {
			after = strings.TrimSpace(after)
			return after[:len(after)-len(strings.TrimLeft(after, "0123456789/"))], true
		}
		text = after
	}
}
