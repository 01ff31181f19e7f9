package prices_test

import (
	"net/http"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

// Each parser gets bytes that an upstream could send: the cases, and the fuzzer's variations of them.

func FuzzNasdaq(f *testing.F) { fuzz(f, "prices-nasdaq") }
func FuzzYahoo(f *testing.F)  { fuzz(f, "prices-yahoo") }
func FuzzTiingo(f *testing.F) { fuzz(f, "prices-tiingo") }
func FuzzCSV(f *testing.F)    { fuzz(f, "prices-csv") }

// fuzz reads bodies as answers to every address that a case of the source has. What is taken must hold what a batch promises, which
// ingest.Parse checks, and the rules of all bars: ascending weekdays, none in the future.
func fuzz(f *testing.F, id string) {
	src := source(f, id)
	asked := map[string]ingesttest.Case{}
	for _, dir := range ingesttest.Dirs(f) {
		if c := ingesttest.Load(f, dir); c.Source == id {
			f.Add(c.Response.Body)
			asked[c.Response.Request.URL] = c
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for address, c := range asked {
			r := c.Response
			r.Body = body
			batch, err := src.Parse(r)
			if err != nil {
				if !batch.Empty() {
					t.Errorf("an error comes with a batch: %v", err)
				}
				continue
			}
			for i, b := range batch.Bars {
				if i > 0 && !b.Date.After(batch.Bars[i-1].Date) || b.Date.After(r.FetchedAt) || b.Date.Weekday()%6 == 0 {
					t.Errorf("the bars of %s: %v", address, b.Date)
				}
				if p, err := equity.ParsePrice(string(b.Close)); err != nil || p != b.Close {
					t.Errorf("a close of %q", b.Close)
				}
			}
			_, err = ingest.Parse(src, series.Fetch{
				URL: address, Status: http.StatusOK, Header: map[string]string{"Content-Type": src.Limits.ContentTypes[0]}, FetchedAt: r.FetchedAt,
			}, body)
			// Two dividends or splits of one day are for the engine to see.
			if err != nil && !strings.Contains(err.Error(), "two values of the action") {
				t.Errorf("the engine refuses what the parser takes: %v", err)
			}
		}
	})
}
