package fed

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"

	"tidemark/ingest"
)

// parseFeed finds the statements among the press releases on monetary policy. It leads, in ascending order, to the statements from the day
// since on. If since is empty, it leads to the statements after the list of past ones. It always leads to the newest, so that every run
// ends with a decision. After a statement that the run has already read, it leads only to later ones.
func parseFeed(since, after string, body []byte) (ingest.Batch, error) {
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse the feed of press releases: %w", err)
	}
	var days []string
	for _, item := range feed.Items {
		if day, ok := statementOf(item); ok && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	if len(days) == 0 {
		return ingest.Batch{}, fmt.Errorf("parse the feed of press releases: no statement among its %d items, expected one of the Federal Open Market Committee", len(feed.Items))
	}
	slices.Sort(days)
	first := slices.IndexFunc(days, func(d string) bool {
		return since != "" && d >= since || since == "" && d > statements[len(statements)-1]
	})
	if after != "" {
		if first = slices.IndexFunc(days, func(d string) bool { return d > after }); first < 0 {
			return ingest.Batch{}, nil
		}
	}
	if first < 0 {
		first = len(days) - 1
	}
	if since != "" {
		if _, err := time.Parse(compactDate, since); err != nil {
			return ingest.Batch{}, errors.New("parse the feed of press releases: the request's since is not a date")
		}
	}
	return ingest.Batch{Next: &ingest.Request{URL: statementsURL(days[first:])}}, nil
}

// statementOf returns the day of the statement that an item links to, if it is one. Other releases of the same days have other letters at
// the end.
func statementOf(item *gofeed.Item) (day string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(item.Link))
	if err != nil || !strings.Contains(strings.ToLower(item.Title), "fomc statement") {
		return "", false
	}
	day, found := strings.CutPrefix(u.Path, statementPrefix)
	day, dated := strings.CutSuffix(day, statementSuffix)
	_, err = time.Parse(compactDate, day)
	return day, found && dated && err == nil
}
