package edgar_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/edgar"
	"tidemark/ingest/ingesttest"
	"tidemark/internal/equity"
)

// agent is an operator who says who asks.
const agent = "Example Research admin@example.com"

const apple equity.CIK = 320193

// source is a source by its id, for a universe of one company.
func source(t testing.TB, id string) ingest.Source {
	t.Helper()
	for _, s := range []ingest.Source{
		edgar.Companies(agent), edgar.Submissions(agent, []equity.CIK{apple}), edgar.Facts(agent, []equity.CIK{apple}), edgar.Current(agent),
	} {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("unknown source %q", id)
	return ingest.Source{}
}

func TestCases(t *testing.T) {
	t.Parallel()
	ingesttest.Check(t, func(t *testing.T, c ingesttest.Case) (ingest.Batch, error) {
		t.Helper()
		batch, err := ingesttest.Parse(source(t, c.Source), c)
		if err != nil && !batch.Empty() {
			t.Errorf("an error comes with a batch: %+v", batch)
		}
		return batch, err
	}, describe)
}

// describe writes a batch as an expected.csv, a line for each value.
func describe(b ingest.Batch) string {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	line := func(cells ...string) { _ = w.Write(cells) } // a buffer takes everything
	date := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.DateOnly)
	}
	for _, c := range b.Companies {
		cells := []string{"company", c.CIK.String(), c.Name, strconv.Itoa(c.SIC), c.Location, c.FiscalYearEnd}
		for _, l := range c.Listings {
			cells = append(cells, l.Ticker+":"+l.Exchange)
		}
		line(cells...)
	}
	for _, f := range b.Filings {
		accepted := ""
		if !f.AcceptedAt.IsZero() {
			accepted = f.AcceptedAt.Format(time.RFC3339)
		}
		line("filing", f.CIK.String(), f.Accession, f.Form, date(f.Filed), accepted, date(f.Period), strings.Join(f.Items, " "), f.URL)
	}
	for _, f := range b.Facts {
		line("fact", f.CIK.String(), f.Taxonomy, f.Tag, f.Unit, date(f.Start), date(f.End), strconv.FormatFloat(f.Value, 'f', -1, 64),
			f.Form, date(f.Filed), f.Accession, strconv.Itoa(f.FY), f.FP)
	}
	w.Flush()
	if b.Next != nil {
		fmt.Fprintf(&text, "# next %s\n", b.Next.URL)
	}
	return text.String()
}

func TestAnswerCutAnywhereFails(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tickers", "exchanges", "company", "older-page-is-the-last", "facts", "current"} {
		c := ingesttest.Load(t, filepath.Join("testdata", name))
		body := bytes.TrimSpace(c.Response.Body)
		for n := range body {
			c.Response.Body = body[:n]
			if _, err := ingesttest.Parse(source(t, c.Source), c); err == nil {
				t.Fatalf("%s: %d of %d bytes were taken for an answer", name, n, len(body))
			}
		}
	}
}

// A page that is not the service's is worth another attempt, a refusal is not.
func TestWhatABlockedProgramSees(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tickers-page-for-humans", "company-page-for-humans", "facts-page-for-humans", "current-page-for-humans"} {
		c := ingesttest.Load(t, filepath.Join("testdata", name))
		_, err := ingesttest.Parse(source(t, c.Source), c)
		if !errors.Is(err, ingest.WrongType) || !strings.Contains(err.Error(), "text/html") {
			t.Errorf("%s: %v, want the wrong content type", name, err)
		}
	}
}
