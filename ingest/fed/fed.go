// Package fed reads the rate decisions of the Federal Open Market Committee from the Federal Reserve's own press releases. Its feed
// announces a statement (feed.go); the statement has the target range and the votes (statement.go). Source declares the source. Sandbox
// answers for both with synthetic decisions.
package fed

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// The series. Every decision is dated the day of its statement, the last one of the meeting.
const (
	upper   series.ID = "fed.FOMC.UPPER"
	lower   series.ID = "fed.FOMC.LOWER"
	votes   series.ID = "fed.FOMC.FOR"
	dissent series.ID = "fed.FOMC.AGAINST"
)

const (
	host     = "www.federalreserve.gov"
	feedPath = "/feeds/press_monetary.xml"
	// Statements lie at newsevents/pressreleases/monetaryYYYYMMDDa.htm, by their day.
	statementPrefix = "/newsevents/pressreleases/monetary"
	statementSuffix = "a.htm"
	compactDate     = "20060102"
)

// statements lists the days of past statements: the feed holds the newest press releases only. A day without one is passed over.
var statements = []string{
	"20190130", "20190320", "20190501", "20190619", "20190731", "20190918", "20191030", "20191211",
	"20200129", "20200303", "20200315", "20200429", "20200610", "20200729", "20200916", "20201105", "20201216",
	"20210127", "20210317", "20210428", "20210616", "20210728", "20210922", "20211103", "20211215",
	"20220126", "20220316", "20220504", "20220615", "20220727", "20220921", "20221102", "20221214",
	"20230201", "20230322", "20230503", "20230614", "20230726", "20230920", "20231101", "20231213",
	"20240131", "20240320", "20240501", "20240612", "20240731", "20240918", "20241107", "20241218",
	"20250129", "20250319", "20250507", "20250618", "20250730", "20250917", "20251029", "20251210",
	"20260128", "20260318", "20260429", "20260617", "20260729",
}

// Source declares the rate decisions. The first run reads the statements since 2019 and those added by the feed. A later run reads the feed
// and the statements from the newest known one on. Statements come at 14:00 in New York, mostly on a Wednesday.
func Source() ingest.Source {
	low, high, none, members := -1.0, 30.0, 0.0, 12.0
	info := func(id series.ID, name, unit string, least, most *float64) series.Info {
		return series.Info{ID: id, Name: name, Unit: unit, Frequency: "irregular", Published: published, Min: least, Max: most}
	}
	return ingest.Source{
		ID:        "fed-fomc",
		Name:      "Statements of the Federal Open Market Committee",
		Publisher: "Board of Governors of the Federal Reserve System",
		License:   "Federal Reserve Board, public domain as a work of the U.S. government; the Board asks to be named as the source.",
		HomeURL:   "https://www.federalreserve.gov/monetarypolicy/fomccalendars.htm",
		Cadence:   series.Cadence{Cron: "15 14,18 * * WED,THU", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval:     time.Second,
			Timeout:      time.Minute,
			MaxBytes:     4 << 20,
			ContentTypes: []string{"text/html", "text/xml", "application/xml", "application/rss+xml"},
			Pages:        len(statements) + 20,
		},
		Series: []series.Info{
			info(upper, "Federal funds rate, upper end of the target range", "Percent", &low, &high),
			info(lower, "Federal funds rate, lower end of the target range", "Percent", &low, &high),
			info(votes, "Votes for the Committee's decision", "Votes", &none, &members),
			info(dissent, "Votes against the Committee's decision", "Votes", &none, &members),
		},
		Window: func(_, newest time.Time) series.Window { return series.Window{From: newest} },
		Request: func(w series.Window) ([]ingest.Request, error) {
			if w.From.IsZero() {
				return []ingest.Request{*pastStatement(0, "")}, nil
			}
			return []ingest.Request{{URL: feedURL(w.From, "")}}, nil
		},
		Parse: parse,
	}
}

// pastStatement requests a statement of the list, with the next one as the alternative. After the end of the list it requests the feed, for
// statements later than read, the last statement that was read. If read is empty, none was.
func pastStatement(i int, read string) *ingest.Request {
	if i == len(statements) {
		return &ingest.Request{URL: feedURL(time.Time{}, read)}
	}
	return &ingest.Request{
		URL: "https://" + host + statementPath(statements[i]), Absent: []int{http.StatusNotFound}, Else: pastStatement(i+1, read),
	}
}

func statementPath(day string) string { return statementPrefix + day + statementSuffix }

// feedURL returns the feed's address. The server ignores its parameters. They tell the parser where to continue: at a statement (since) or
// after one (after).
func feedURL(since time.Time, after string) string {
	u := url.URL{Scheme: "https", Host: host, Path: feedPath}
	switch {
	case !since.IsZero():
		u.RawQuery = url.Values{"since": {since.UTC().Format(compactDate)}}.Encode()
	case after != "":
		u.RawQuery = url.Values{"after": {after}}.Encode()
	}
	return u.String()
}

// statementsURL is the address of the first of some statements of the feed.
func statementsURL(days []string) string {
	q := url.Values{"then": {strings.Join(days[1:], " ")}}
	return (&url.URL{Scheme: "https", Host: host, Path: statementPath(days[0]), RawQuery: q.Encode()}).String()
}

// parse reads the feed or a statement.
func parse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Batch{}, errors.New("parse a press release: its address is not one")
	}
	if u.Host == host && u.Path == feedPath {
		return parseFeed(u.Query().Get("since"), u.Query().Get("after"), r.Body)
	}
	name, ok := strings.CutPrefix(u.Path, statementPrefix)
	name, dated := strings.CutSuffix(name, statementSuffix)
	day, err := time.Parse(compactDate, name)
	if u.Host != host || !ok || !dated || err != nil {
		return ingest.Batch{}, fmt.Errorf("parse an answer of %s%s: the Fed is not asked there", u.Host, u.Path)
	}
	batch, err := parseStatement(day, r.Body)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse the statement of %s: %w", day.Format(time.DateOnly), err)
	}
	switch left := strings.Fields(u.Query().Get("then")); {
	case len(left) > 0:
		batch.Next = &ingest.Request{URL: statementsURL(left)}
	case !u.Query().Has("then"): // one of the list
		batch.Next = pastStatement(slices.Index(statements, name)+1, name)
	}
	return batch, nil
}
