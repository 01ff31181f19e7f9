package ecb

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

// feedURL is the feed's address. The server ignores its parameter, the last decision that the parser has read.
func feedURL(after string) string {
	return (&url.URL{Scheme: "https", Host: pressHost, Path: feedPath, RawQuery: url.Values{"after": {after}}.Encode()}).String()
}

// parseFeed finds the releases on monetary policy decisions later than a day, and leads to them in ascending order. Mostly the fifteen
// newest press releases have none.
func parseFeed(after string, body []byte) (ingest.Batch, error) {
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse the feed of press releases: %w", err)
	}
	if len(feed.Items) == 0 {
		return ingest.Batch{}, errors.New("parse the feed of press releases: it has no items")
	}
	if _, err := time.Parse(compactDate, after); err != nil {
		return ingest.Batch{}, errors.New("parse the feed of press releases: the request's after is not a date")
	}
	paths := map[string]string{}
	for _, item := range feed.Items {
		u, err := url.Parse(strings.TrimSpace(item.Link))
		if err != nil || !strings.EqualFold(strings.TrimSpace(item.Title), "monetary policy decisions") {
			continue
		}
		if day, ok := releaseDay(u.Path); ok && u.Host == pressHost && day.Format(compactDate) > after {
			paths[day.Format(compactDate)] = "/" + strings.TrimLeft(u.Path, "/")
		}
	}
	var list []string
	for _, p := range paths {
		list = append(list, p)
	}
	slices.Sort(list) // by year, then by day
	next, err := followingRelease(list)
	return ingest.Batch{Next: next}, err
}

// followingRelease requests the first of some releases. The others are in a parameter that the server ignores. It returns nil for an empty
// list.
func followingRelease(paths []string) (*ingest.Request, error) {
	if len(paths) == 0 {
		return nil, nil //nolint:nilnil // there is none, and nothing is wrong
	}
	for _, p := range paths {
		if _, ok := releaseDay(p); !ok {
			return nil, fmt.Errorf("%.100q is not a release on a decision", p)
		}
	}
	u := url.URL{Scheme: "https", Host: pressHost, Path: paths[0]}
	if len(paths) > 1 {
		u.RawQuery = url.Values{"then": paths[1:]}.Encode()
	}
	return &ingest.Request{URL: u.String()}, nil
}
