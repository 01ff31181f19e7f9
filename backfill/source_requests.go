package backfill

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// sourceRequests returns the requests to the sources of a signal's inputs: for the range, in observation times, or for the whole history
// if a series was never loaded.
func (p Planner) sourceRequests(ctx context.Context, def signals.Definition, r Request, states []postgres.SeriesState) ([]SourceRequest, error) {
	window := windowOf(r)
	var list []SourceRequest
	for _, src := range sourcesOf(p.Sources, def.Inputs) {
		a := SourceRequest{
			BackfillFetch: postgres.BackfillFetch{Source: src.ID},
			Interval:      cmp.Or(src.Limits.Interval, ingest.DefaultInterval),
			Pages:         cmp.Or(src.Limits.Pages, ingest.DefaultPages),
		}
		if !r.FromArchive {
			a.First = slices.ContainsFunc(states, func(s postgres.SeriesState) bool { return !s.Loaded() && serves(src, s.Series) })
			asked := window
			if a.First {
				asked = series.Window{}
			} else {
				a.WindowFrom, a.WindowTo = &window.From, &window.To
			}
			requests, err := src.Request(asked)
			if err != nil {
				return nil, fmt.Errorf("build the requests of %s: %w", src.ID, err)
			}
			a.Requests, a.Hosts = len(requests), hosts(requests)
			if a.LastDay, err = p.DB.RequestsSince(ctx, src.ID, p.Now.Add(-24*time.Hour)); err != nil {
				return nil, err
			}
		}
		list = append(list, a)
	}
	return list, nil
}

// windowOf is the range as observation times: its days in UTC, which is how observations are dated.
func windowOf(r Request) series.Window {
	begin, end := days(r.From, r.To, time.UTC)
	return series.Window{From: begin, To: end.Add(-time.Microsecond)}
}

// sourcesOf lists the sources that serve one of some series, in their order.
func sourcesOf(all []ingest.Source, ids []series.ID) []ingest.Source {
	return slices.DeleteFunc(slices.Clone(all), func(src ingest.Source) bool {
		return !slices.ContainsFunc(ids, func(id series.ID) bool { return serves(src, id) })
	})
}

func serves(src ingest.Source, id series.ID) bool {
	return slices.ContainsFunc(src.Series, func(i series.Info) bool { return i.ID == id })
}

// hosts names the hosts of requests, without anything of a URL that may be secret.
func hosts(requests []ingest.Request) []string {
	var list []string
	for _, r := range requests {
		if u, err := url.Parse(r.URL); err == nil && !slices.Contains(list, u.Host) {
			list = append(list, u.Host)
		}
	}
	return list
}

// MinDuration is the least time that the first requests take.
func (a SourceRequest) MinDuration() time.Duration {
	return time.Duration(max(a.Requests-len(a.Hosts), 0)) * a.Interval
}
