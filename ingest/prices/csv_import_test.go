package prices_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/prices"
	"tidemark/internal/equity"
)

// fixture is a folder with all that is needed to read it.
type fixture struct {
	prices.CSVImport
	files  fstest.MapFS
	ledger *ingesttest.FetchLog
	store  *archive.Store
}

func newRig(t *testing.T, files map[string]string) *fixture {
	t.Helper()
	store, err := archive.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	r := &fixture{files: fstest.MapFS{}, ledger: &ingesttest.FetchLog{}, store: store}
	for name, text := range files {
		r.files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	r.CSVImport = prices.CSVImport{
		Folder: r.files, Shares: []prices.Share{appleShare, {CIK: 1067983, Ticker: "BRK-B"}, prices.Benchmark()},
		Now:    func() time.Time { return time.Date(2026, 7, 23, 22, 0, 0, 0, time.UTC) },
		Ledger: r.ledger, Archive: store,
	}
	return r
}

func TestTheFolderIsReadAsAnUpstreamIs(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"aapl.csv":    "date,close\n2026-07-23,321.66\n",
		"BRK-B.CSV":   "date,close,dividend\n2026-07-22,500.00,\n2026-07-23,501.25,0.5\n",
		"actions.csv": "cik,date,kind\n1111111,2026-07-03,delisting\n",
		"NOBODY.csv":  "not prices at all",
		"README.txt":  "mine",
	})
	got, err := r.Collect(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	bar := func(id equity.CIK, d string, p equity.Price) equity.Bar {
		return equity.Bar{CIK: id, Date: day(t, d), Close: p, Source: "csv"}
	}
	want := []ingest.Batch{
		{Bars: []equity.Bar{bar(320193, "2026-07-23", "321.66")}},
		{
			Bars:    []equity.Bar{bar(1067983, "2026-07-22", "500.00"), bar(1067983, "2026-07-23", "501.25")},
			Actions: []equity.Action{{CIK: 1067983, Kind: equity.Dividend, Date: day(t, "2026-07-23"), Cash: "0.50", Source: "csv"}},
		},
		{Actions: []equity.Action{{CIK: 1111111, Kind: equity.Delisting, Date: day(t, "2026-07-03"), Source: "csv"}}},
	}
	var batches []ingest.Batch
	var urls []string
	for _, f := range got {
		batches, urls = append(batches, f.Batch), append(urls, f.Fetch.URL)
		body, err := r.store.Get(t.Context(), f.Fetch.SHA256)
		if err != nil || int64(len(body)) != f.Fetch.Bytes {
			t.Errorf("%s is not archived: %v", f.Fetch.URL, err)
		}
		again, err := ingest.Parse(prices.CSV(), f.Fetch, body)
		if diff := cmp.Diff(f.Batch, again); diff != "" || err != nil {
			t.Errorf("%s read from the archive: %v (-was +is):\n%s", f.Fetch.URL, err, diff)
		}
	}
	if diff := cmp.Diff(want, batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"csvdrop:AAPL.csv?tidemark_cik=0000320193", "csvdrop:BRK-B.csv?tidemark_cik=0001067983", "csvdrop:actions.csv"}, urls); diff != "" {
		t.Errorf("names in the ledger (-want +got):\n%s", diff)
	}
}

func TestAFileThatIsAsItWasIsConfirmed(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"AAPL.csv": "date,close\n2026-07-22,325.89\n"})
	var statuses []int
	for _, text := range []string{"date,close\n2026-07-22,325.89\n", "date,close\n2026-07-22,325.89\n", "date,close\n2026-07-22,325.89\n2026-07-23,321.66\n"} {
		r.files["AAPL.csv"].Data = []byte(text)
		got, err := r.Collect(t.Context(), 1)
		if err != nil || len(got) != 1 || len(got[0].Batch.Bars) != strings.Count(text, "2026") {
			t.Fatalf("%d files: %v", len(got), err)
		}
		statuses = append(statuses, got[0].Fetch.Status)
	}
	if diff := cmp.Diff([]int{200, 304, 200}, statuses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOneBrokenFileDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"AAPL.csv": "<html>", "BRK-B.csv": "date,close\n2026-07-23,501.25\n", "SPY.csv": "date,close\n2026-06-23,501.25\n",
	})
	got, err := r.Collect(t.Context(), 1)
	if len(got) != 1 || got[0].Batch.Bars[0].CIK != 1067983 {
		t.Errorf("%d files are good, want that of BRK-B", len(got))
	}
	if !errors.Is(err, ingest.Layout) || !strings.Contains(err.Error(), "AAPL") || !strings.Contains(err.Error(), "stale: the newest bar is of 2026-06-23") {
		t.Errorf("%v", err)
	}
	if len(r.ledger.Rows) != 3 {
		t.Errorf("%d files are recorded, want all 3: what was read is archived, good or bad", len(r.ledger.Rows))
	}
}

func TestAFolderWithoutFilesSaysNothing(t *testing.T) {
	t.Parallel()
	got, err := newRig(t, nil).Collect(t.Context(), 1)
	if len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAFileTooLargeIsRefusedWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"AAPL.csv": "date,close\n" + strings.Repeat("2026-07-23,321.66\n", 1<<20)})
	if got, err := r.Collect(t.Context(), 1); len(got) != 0 || err == nil || !strings.Contains(err.Error(), "more than 16777216 bytes") {
		t.Errorf("%d files, %v", len(got), err)
	}
}

func TestALedgerThatFailsIsTheProgramsTrouble(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"AAPL.csv": "date,close\n2026-07-23,321.66\n"})
	r.ledger.Fail = errors.New("the database is unavailable")
	got, err := r.Collect(t.Context(), 1)
	if len(got) != 0 || !errors.Is(err, r.ledger.Fail) || errors.Is(err, ingest.Refused) {
		t.Errorf("%d files, %v", len(got), err)
	}
	r.ledger.Fail = nil
	if got, err := r.Collect(t.Context(), 1); len(got) != 1 || err != nil {
		t.Errorf("the next time: %d files, %v", len(got), err)
	}
}
