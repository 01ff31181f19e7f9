package prices_test

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
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/prices"
)

var appleShare = prices.Share{CIK: 320193, Ticker: "AAPL"}

// source is a source by its id.
func source(t testing.TB, id string) ingest.Source {
	t.Helper()
	list := []prices.Share{appleShare}
	for _, s := range []ingest.Source{prices.Nasdaq(list), prices.Yahoo(list), prices.Tiingo("k3y-of-nobody", list), prices.CSV()} {
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
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, v := range b.Bars {
		_ = w.Write([]string{ // a buffer takes everything
			"bar", v.CIK.String(), v.Date.Format(time.DateOnly), "open " + string(v.Open), "high " + string(v.High), "low " + string(v.Low),
			"close " + string(v.Close), strconv.FormatInt(v.Volume, 10), v.Source,
		})
	}
	for _, a := range b.Actions {
		_ = w.Write([]string{
			string(a.Kind), a.CIK.String(), a.Date.Format(time.DateOnly), number(a.New) + " for " + number(a.Old), "cash " + string(a.Cash),
			"successor " + a.Successor.String(), a.Source,
		})
	}
	w.Flush()
	if b.Next != nil {
		fmt.Fprintf(&text, "# next %s\n", b.Next.URL)
	}
	return text.String()
}

func TestAnswerCutAnywhereFails(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nasdaq", "yahoo-split-and-dividends-before-and-after", "tiingo-split-and-dividend"} {
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

// A quota that is used up comes with status 200, and passes.
func TestTroubleThatPassesIsTold(t *testing.T) {
	t.Parallel()
	for name, passes := range map[string]bool{
		"tiingo-quota-used-up": true, "tiingo-symbols-used-up-as-text": true, "tiingo-invalid-token": false, "nasdaq-symbol-not-exists": false,
	} {
		c := ingesttest.Load(t, filepath.Join("testdata", name))
		_, err := ingesttest.Parse(source(t, c.Source), c)
		if got := errors.Is(err, ingest.Temporary); got != passes {
			t.Errorf("%s: passes: %t, want %t (%v)", name, got, passes, err)
		}
	}
}

func TestAnErrorNamesTheShare(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nasdaq-symbol-not-exists", "yahoo-not-found", "tiingo-empty", "csv-stale"} {
		c := ingesttest.Load(t, filepath.Join("testdata", name))
		_, err := ingesttest.Parse(source(t, c.Source), c)
		if err == nil || !strings.Contains(err.Error(), "AAPL (CIK 0000320193)") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
