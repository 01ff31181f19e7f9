package worldbank

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/gocolly/colly/v2"

	"tidemark/ingest"
)

// userAgent replaces colly's own name. No server sees it: the transport below uses no network.
const userAgent = "tidemark"

// linkText is the text of the link to the workbook.
const linkText = "Monthly prices"

// link is one link of the landing page.
type link struct{ href, text string }

// parseLanding finds the workbook's address on the landing page. The page has no readings; the workbook is the next page. A link
// that leads away from the World Bank is refused: what another host serves is not what this source declares.
func parseLanding(u *url.URL, r ingest.Response) (ingest.Batch, error) {
	title, links, err := scrape(r)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse the page of commodity markets: %w", err)
	}
	address, err := workbookAddress(u, links)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse the page of commodity markets, titled %.100q: %w", title, err)
	}
	return ingest.Batch{Next: &ingest.Request{URL: address}}, nil
}

// workbookAddress picks the link to the workbook. If links of its name lead to different places, the link with the known text counts.
func workbookAddress(page *url.URL, links []link) (string, error) {
	found := map[string]bool{} // address to whether a link with the known text leads there
	for _, l := range links {
		ref, err := url.Parse(strings.TrimSpace(l.href))
		if err != nil || !strings.EqualFold(path.Base(ref.Path), workbookName) {
			continue
		}
		u := page.ResolveReference(ref)
		u.Fragment, u.RawFragment = "", ""
		switch {
		case u.Scheme != "https" || u.User != nil || u.Port() != "":
			return "", fmt.Errorf("the link to %s is %.200q, want a plain https address", workbookName, l.href)
		case !ofDomain(u.Hostname()):
			return "", fmt.Errorf("the link to %s leads to the host %.100q, want one of %s", workbookName, u.Hostname(), domain)
		}
		found[u.String()] = found[u.String()] || strings.EqualFold(l.text, linkText)
	}
	var all, named []string
	for address, isNamed := range found {
		all = append(all, address)
		if isNamed {
			named = append(named, address)
		}
	}
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(named) == 1:
		return named[0], nil
	case len(all) == 0:
		return "", fmt.Errorf("none of its %d links leads to %s", len(links), workbookName)
	}
	return "", fmt.Errorf("its links to %s lead to %d places, want one", workbookName, len(all))
}

// scrape collects title and links of a page. Its colly collector exists for this one call, and its transport returns the archived bytes:
// nothing is fetched, and the same bytes always give the same links. NewCollector is not used because it reads settings from the
// environment.
func scrape(r ingest.Response) (title string, links []link, err error) {
	c := &colly.Collector{}
	c.Init()
	c.AllowURLRevisit = true // one collector, one visit: keep no list of visited pages
	c.MaxBodySize = 0        // the engine has bounded the body; colly would cut it silently
	c.UserAgent = userAgent
	c.SetClient(&http.Client{Transport: archived{r}})
	c.OnHTML("title", func(e *colly.HTMLElement) {
		if title == "" {
			title = clean(e.Text)
		}
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		links = append(links, link{e.Attr("href"), clean(e.Text)})
	})
	if err := c.Visit(r.Request.URL); err != nil {
		return "", nil, fmt.Errorf("read html: %w", err)
	}
	return title, links, nil
}

// archived is the transport that answers with one archived body.
type archived struct{ response ingest.Response }

// RoundTrip answers every request. None of the archived headers is kept. The body is stored decoded, so a content encoding would be
// undone twice. The body is read as UTF-8; all the parts that are read are UTF-8.
func (a archived) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body:       io.NopCloser(bytes.NewReader(a.response.Body)),
		Request:    req,
	}, nil
}

// clean collapses white space, hard blanks included, to single blanks and trims it.
func clean(s string) string { return strings.Join(strings.Fields(s), " ") }

// LandingURL is the address of the page that links to the workbook.
func LandingURL() string { return "https://" + landingHost + landingPath }

// WorkbookURL is the address of the workbook of a document, such as "74e8be41ceb20fa0da750cda2f6b9e4e-0050012026".
func WorkbookURL(document string) string {
	return "https://thedocs.worldbank.org/en/doc/" + url.PathEscape(document) + "/related/" + workbookName
}

// LandingPage writes a page that links to the workbook at an address: the inverse of the parser. The sandbox and a recording tool
// use it. Note says in a comment of the page what made it; it must not hold two hyphens in a row.
func LandingPage(workbook, note string) []byte {
	return fmt.Appendf(nil, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Commodity Markets</title>
<!-- %s -->
</head>
<body>
<h1>Commodity Markets</h1>
<h2>Commodity prices (Pink Sheet)</h2>
<ul>
<li><a href="%s">%s</a> (XLS)</li>
</ul>
</body>
</html>
`, html.EscapeString(note), html.EscapeString(workbook), linkText)
}
