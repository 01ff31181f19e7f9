// Package ecb reads the monetary policy decisions of the European Central Bank. Its data portal has the rate on the deposit facility day by
// day (portal.go); the decisions of past meetings follow from it. Its feed of press releases announces a new one (feed.go), and the release
// has the rates (release.go). Source declares the source. Sandbox answers for all three with synthetic decisions.
package ecb

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// The series: the deposit facility rate of each day, and the one decided on at a meeting, dated the day of the decision. A decision takes
// effect on the Wednesday after.
const (
	inForce series.ID = "ecb.DFR"
	decided series.ID = "ecb.DECISION"
)

const (
	portalHost  = "data-api.ecb.europa.eu"
	portalPath  = "/service/data/FM/" + portalKey
	portalKey   = "D.U2.EUR.4F.KR.DFR.LEV"
	pressHost   = "www.ecb.europa.eu"
	feedPath    = "/rss/press.html"
	compactDate = "20060102"
	zoneName    = "Europe/Berlin"
)

// begin is the first day that is asked for. It leaves five years of decisions before 2025.
var begin = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

// meetings are the days of past decisions. The data portal has the rate in force on a day, but not the days on which the Governing
// Council left it unchanged.
var meetings = []string{
	"20200123", "20200312", "20200430", "20200604", "20200716", "20200910", "20201029", "20201210",
	"20210121", "20210311", "20210422", "20210610", "20210722", "20210909", "20211028", "20211216",
	"20220203", "20220310", "20220414", "20220609", "20220721", "20220908", "20221027", "20221215",
	"20230202", "20230316", "20230504", "20230615", "20230727", "20230914", "20231026", "20231214",
	"20240125", "20240307", "20240411", "20240606", "20240718", "20240912", "20241017", "20241212",
	"20250130", "20250306", "20250417", "20250605", "20250724", "20250911", "20251030", "20251218",
	"20260205", "20260319", "20260430", "20260611", "20260723", "20260910", "20261029",
}

// Source declares the decisions. A run reads the data portal and then the feed, with the releases on decisions that are too new for the
// portal or for the list of meetings. Decisions come at 14:15 in Frankfurt, nearly always on a Thursday.
func Source() ingest.Source {
	low, high := -2.0, 20.0
	return ingest.Source{
		ID:        "ecb-rates",
		Name:      "Monetary policy decisions of the European Central Bank",
		Publisher: "European Central Bank",
		License:   "European Central Bank: free to reuse when the source is named and the figures are not changed. Source: ECB.",
		HomeURL:   "https://www.ecb.europa.eu/press/govcdec/mopo/html/index.en.html",
		Cadence:   series.Cadence{Cron: "20 14,17 * * WED,THU", Zone: zoneName, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval: time.Second,
			Timeout:  time.Minute,
			MaxBytes: 4 << 20,
			ContentTypes: []string{
				"text/csv", "application/vnd.sdmx.data+csv", "text/html", "text/xml", "application/xml", "application/rss+xml",
			},
			Pages: 20,
		},
		Series: []series.Info{
			{
				ID: inForce, Name: "Deposit facility rate in force", Unit: "Percent", Frequency: "daily",
				Published: func(day time.Time) time.Time { return day }, Min: &low, Max: &high,
			},
			{
				ID: decided, Name: "Deposit facility rate as decided", Unit: "Percent", Frequency: "irregular",
				Published: published, Min: &low, Max: &high,
			},
		},
		// Two months hold a decision in any case, and the newest day that is known.
		Window: func(_, newest time.Time) series.Window { return series.Window{From: newest.AddDate(0, -2, 0)} },
		Request: func(w series.Window) ([]ingest.Request, error) {
			q := url.Values{"format": {"csvdata"}, "detail": {"dataonly"}, "startPeriod": {from(w).Format(time.DateOnly)}}
			if !w.To.IsZero() {
				q.Set("endPeriod", w.To.UTC().Format(time.DateOnly))
			}
			return []ingest.Request{{URL: (&url.URL{Scheme: "https", Host: portalHost, Path: portalPath, RawQuery: q.Encode()}).String()}}, nil
		},
		Parse: parse,
	}
}

// from is the first day that is asked for.
func from(w series.Window) time.Time {
	if w.From.After(begin) {
		return w.From.UTC()
	}
	return begin
}

// releasePattern is the path of a release on a decision: its day in six digits, and mostly a digest, which cannot be guessed.
var releasePattern = regexp.MustCompile(`^/+press/pr/date/\d{4}/html/ecb\.mp(\d{6})(?:~[0-9a-z]+)?\.en\.html$`)

// parse reads the portal's table, the feed or a release.
func parse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Batch{}, errors.New("parse an answer of the ECB: its address is not one")
	}
	switch {
	case u.Host == portalHost && u.Path == portalPath:
		return parsePortal(u.Query(), r.Body)
	case u.Host == pressHost && u.Path == feedPath:
		return parseFeed(u.Query().Get("after"), r.Body)
	case u.Host == pressHost:
		day, ok := releaseDay(u.Path)
		if !ok {
			break
		}
		batch, err := parseRelease(day, r.Body)
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("parse the release of %s: %w", day.Format(time.DateOnly), err)
		}
		if batch.Next, err = followingRelease(u.Query()["then"]); err != nil {
			return ingest.Batch{}, err
		}
		return batch, nil
	}
	return ingest.Batch{}, fmt.Errorf("parse an answer of %s%s: the ECB is not asked there", u.Host, u.Path)
}

// releaseDay returns the day of the decision of a release page, and whether the page is one.
func releaseDay(path string) (time.Time, bool) {
	m := releasePattern.FindStringSubmatch(path)
	if m == nil {
		return time.Time{}, false
	}
	day, err := time.Parse("060102", m[1])
	return day, err == nil
}

// frankfurt is the zone of the bank's clock.
var frankfurt = ingest.Zone(zoneName)

// published is the assumed time of the decision of a day: 14:15. Until June 2022 it came at 13:45.
func published(day time.Time) time.Time {
	year, month, date := day.UTC().Date()
	return time.Date(year, month, date, 14, 15, 0, 0, frankfurt()).UTC()
}
