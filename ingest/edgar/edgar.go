// Package edgar reads companies' filings with the U.S. Securities and Exchange Commission. Companies has their identities and tickers,
// Submissions their filings, Current the newest filings of all companies, and Facts the figures of their reports. Each source's wire form
// is in the file of its name. Sandbox answers for all of them with invented companies.
//
// The SEC requires every program to name itself and a contact address, and to send at most ten requests a second to all of its hosts
// together. A source without such a name sends no requests.
package edgar

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
)

const (
	// filesHost serves the lists of companies and of the newest filings, dataHost what is known of one company.
	filesHost = "www.sec.gov"
	dataHost  = "data.sec.gov"

	publisher = "U.S. Securities and Exchange Commission"
	license   = "SEC EDGAR, public information that may be copied and passed on without permission; source: U.S. Securities and Exchange Commission."
)

const (
	// interval is the engine's interval between two requests to one host: five a second to each of the two hosts.
	interval = 200 * time.Millisecond
	// forbidden is how long the SEC shuts out who asks too much: ten minutes, in which further questions do not count in one's favour.
	forbidden = 11 * time.Minute
)

// errNoAgent refuses a source that would not say who asks.
var errNoAgent = errors.New(`the setting SEC_USER_AGENT names nobody: the SEC answers only programs that say who asks and where ` +
	`to write to, such as "Example Research admin@example.com"`)

// requests builds one request for each address, in the operator's name.
func requests(agent string, addresses ...string) ([]ingest.Request, error) {
	if !strings.Contains(strings.Trim(agent, "@ "), "@") || strings.ContainsFunc(agent, func(r rune) bool { return r < ' ' }) {
		return nil, errNoAgent
	}
	list := make([]ingest.Request, len(addresses))
	for i, a := range addresses {
		list[i] = ingest.Request{URL: a, Header: http.Header{"User-Agent": {agent}}}
	}
	return list, nil
}

// follow is the request for a further page, in the name in which the page before was asked for.
func follow(r ingest.Request, address string) *ingest.Request {
	return &ingest.Request{URL: address, Header: r.Header}
}

// errNoUniverse refuses a source that was given no company.
var errNoUniverse = errors.New("the universe is empty: no company can be asked about")

// each is an address for each company of a universe.
func each(universe []equity.CIK, address func(equity.CIK) string) ([]string, error) {
	if len(universe) == 0 {
		return nil, errNoUniverse
	}
	list := make([]string, len(universe))
	for i, c := range universe {
		if c <= 0 {
			return nil, fmt.Errorf("the universe holds the CIK %d", int64(c))
		}
		list[i] = address(c)
	}
	return list, nil
}

// address is the address of an answer that a parser was handed.
func address(r ingest.Response, host string) (*url.URL, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil || u.Host != host {
		return nil, fmt.Errorf("this is not asked of %s", host)
	}
	return u, nil
}

// companyIn reads the CIK in a path, which form captures first.
func companyIn(path string, form *regexp.Regexp) (equity.CIK, []string, error) {
	m := form.FindStringSubmatch(path)
	if m == nil {
		return 0, nil, fmt.Errorf("the path %.80q names no company", path)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n <= 0 {
		return 0, nil, fmt.Errorf("the path %.80q names the CIK %s", path, m[1])
	}
	return equity.CIK(n), m, nil
}

// wrap says what was being read.
func wrap(what string, batch ingest.Batch, err error) (ingest.Batch, error) {
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse %s: %w", what, err)
	}
	return batch, nil
}

// json is the limits of the sources that answer in JSON. The facts of a large bank are 15 MB, its filings more.
func jsonLimits(pages int) ingest.Limits {
	return ingest.Limits{
		Interval: interval, Timeout: 2 * time.Minute, MaxBytes: 64 << 20, ContentTypes: []string{"application/json"}, Pages: pages,
		Forbidden: forbidden,
	}
}
