package workers_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/edgar"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/task"
	"tidemark/picks"
	"tidemark/workers"
)

// The reports of a company are asked for after its pick is announced, and once by each version of the reader. Those of a pick that waits for its
// announcement are not.
func TestRiskFactorsAreReadAfterTheAnnouncement(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2025-11-24")
	store, err := archive.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	now := calendar.At(on(t, "2025-11-24"), 20*time.Hour)
	var asked []string
	missing, older := "", true
	transport := carrier(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		year := strings.Split(r.URL.Path, "/")[5][10:12]
		text := fmt.Sprintf("<p><b>Item 1A. Risk Factors</b></p><p><b>Rivals may take our customers.</b></p><p>Some may.</p>"+
			"<p><b>Storms of the year %s alone may damage many of our sites.</b></p><p>They may.</p><p><b>Item 2. Properties</b></p>", year)
		answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Request: r}
		if missing != "" && strings.Contains(r.URL.Path, missing) {
			answer.StatusCode = http.StatusNotFound
		}
		answer.Body = io.NopCloser(strings.NewReader(text))
		return answer, nil
	})
	job := workers.Equities{
		DB: m.db, Now: func() time.Time { return now },
		Engine: &ingest.Engine{Transport: transport, Now: func() time.Time { return now }, Ledger: m.db, Archive: store, Offline: true, Attempts: 1},
		Documents: func(reports []equity.Filing) ingest.Source {
			source := edgar.Documents(agent, reports)
			parse := source.Parse
			source.Parse = func(r ingest.Response) (ingest.Batch, error) {
				b, err := parse(r)
				if older && len(b.Risks) > 0 {
					b.Risks[0] = equity.RiskFactors{CIK: b.Risks[0].CIK, Accession: b.Risks[0].Accession, Reader: equity.RiskReader - 1, State: equity.RisksNotFound}
				}
				return b, err
			}
			return source
		},
	}
	runs := 0
	read := func(day string) []string {
		t.Helper()
		runs++
		now = calendar.At(on(t, day), 18*time.Hour+time.Duration(40+runs)*time.Minute)
		asked = nil
		run := m.begin(task.Equities, "edgar-documents", now)
		if err := job.Run(t.Context(), run); err != nil {
			t.Fatalf("on %s: %v", day, err)
		}
		if err := m.db.Succeed(t.Context(), run.Fence); err != nil {
			t.Fatal(err)
		}
		return asked
	}
	if got := read("2025-11-24"); len(got) > 0 {
		t.Errorf("without a pick %v is asked", got)
	}
	m.live("2025-11-25")
	m.trade("2025-11-26")
	m.pick("2025-11-26") // not announced yet
	made, err := m.db.RecordedPicks(t.Context())
	if err != nil || len(made) != 2 || made[0].CIK == made[1].CIK {
		t.Fatalf("%+v (%v)", made, err)
	}
	link := func(cik equity.CIK, year int) string {
		return fmt.Sprintf("https://www.sec.gov/Archives/edgar/data/%d/%010d%02d000001/report.htm", cik, cik, year)
	}
	if d := cmp.Diff([]string{link(made[0].CIK, 24), link(made[0].CIK, 25)}, read("2025-11-26")); d != "" {
		t.Errorf("asked for (-want +got):\n%s", d)
	}
	older = false
	if got := read("2025-11-26"); len(got) != 2 {
		t.Errorf("asked for %v, want what an older reader has read", got)
	}
	if got := read("2025-11-26"); len(got) > 0 {
		t.Errorf("asked again for %v", got)
	}
	reports, err := m.api.RiskReports(t.Context(), m.ciks)
	if err != nil || len(reports) != 1 || len(reports[made[0].CIK]) != 2 {
		t.Fatalf("%+v (%v)", reports, err)
	}
	c := picks.CompareRisks(reports[made[0].CIK])
	if c.State != picks.RisksCompared || c.Same != 1 || len(c.Reworded) != 1 || !strings.Contains(c.Reworded[0].Now, "year 25") || c.Now.Filing.URL != link(made[0].CIK, 25) {
		t.Errorf("%+v", c)
	}
	m.clock("2025-11-26", announceClock)
	if err := m.run(task.Announce, task.Daily, calendar.At(on(t, "2025-11-26"), announceClock)); err != nil {
		t.Fatal(err)
	}
	// A document that the SEC does not have is no failure, and is asked for again.
	missing = fmt.Sprintf("/%d/%010d25", made[1].CIK, made[1].CIK)
	if got := read("2025-11-28"); !slices.Equal(got, []string{link(made[1].CIK, 24), link(made[1].CIK, 25)}) {
		t.Errorf("asked for %v", got)
	}
	missing = ""
	if got := read("2025-12-01"); !slices.Equal(got, []string{link(made[1].CIK, 25)}) {
		t.Errorf("asked for %v, want the document that was missing", got)
	}
}
