package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/chain/audit"
	"tidemark/ingest"
	"tidemark/ingest/nass"
	"tidemark/internal/series"
	"tidemark/signals"
)

// explained runs `explain --url` against the server, and checks its exit status and output.
func (s *evidenceServer) explained(code int, want []string, args ...string) string {
	s.t.Helper()
	var out, complaint bytes.Buffer
	args = append([]string{"explain", "eia-weekly-petroleum", "--url=" + s.url, "--world=sandbox"}, args...)
	if got := run(s.t.Context(), args, &out, &complaint); got != code {
		s.t.Errorf("exit %d, want %d: %s\n%s", got, code, complaint.String(), out.String())
	}
	for _, w := range want {
		if !strings.Contains(out.String(), w) {
			s.t.Errorf("it lacks %q:\n%s", w, out.String())
		}
	}
	return out.String()
}

// When each value became known follows from the bytes, too, and what the server says with its numbers follows from them and from the method.
func TestExplainFromOutsideFindsALieBesideTheNumbers(t *testing.T) {
	t.Parallel()
	long := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what string
		lie  func(s *evidenceServer)
		want string
	}{
		{"when a value became known, as it assumes", func(s *evidenceServer) { s.evidence.IntervalCells[7].PublishedAt = long }, "became known at 1999-01-01T00:00:00Z (assumed: true), the bodies make it 20"},
		{"when every value became known", func(s *evidenceServer) {
			for i := range s.evidence.ValueCells {
				s.evidence.ValueCells[i].PublishedAt = s.evidence.ValueCells[i].PublishedAt.Add(-time.Hour)
			}
		}, "became known at 2026-05-13T13:30:00Z (assumed: true), the bodies make it 2026-05-13T14:30:00Z (assumed: true)"},
		{"when a value became known that was replaced", func(s *evidenceServer) {
			c := s.evidence.BaselineCells[0]
			c.Superseded = true
			s.evidence.IntervalCells = append(s.evidence.IntervalCells, c)
		}, "and the listed bodies make no such value"},
		{"that it saw a value of a component being published", func(s *evidenceServer) {
			c := &s.evidence.ComponentCells[0]
			c.PublishedAt, c.PublishedAtAssumed = s.now, false
		}, "became known at 2026-05-14T20:00:00Z (assumed: false), the bodies make it"},
		{"which body brought a value", func(s *evidenceServer) {
			s.evidence.ValueCells[0].SHA256 = s.add(append(s.bodies[s.evidence.Bodies[0].SHA256], '\n'), -time.Minute)
		}, "brought it, and"},
		{"when the newest became known", func(s *evidenceServer) { s.snapshot.PublishedAt = &long }, "DIFFER  published_at"},
		{"that the bytes came later", func(s *evidenceServer) {
			s.snapshot.IngestedAt = new(s.now.Add(time.Hour))
			s.snapshot.JSONLD.DateModified = s.snapshot.IngestedAt
		}, "DIFFER  ingested_at"},
		{"when an observation was taken back", func(s *evidenceServer) {
			s.takeBack()
			s.evidence.Withdrawn[0].WithdrawnAt = s.evidence.Withdrawn[0].WithdrawnAt.Add(-time.Minute)
		}, "taken back at 2026-05-14T20:59:00Z"},
		{"the sign of what was taken back", func(s *evidenceServer) {
			s.takeBack()
			s.evidence.Withdrawn[0].Marker = "withdrawn"
		}, `with the sign "withdrawn"`},
		{"nothing about what was taken back", func(s *evidenceServer) {
			s.takeBack()
			s.evidence.Withdrawn = nil
		}, "it was taken back at 2026-05-14T21:00:00Z, and the server does not say so"},
		{"the value in the JSON-LD", func(s *evidenceServer) { s.snapshot.JSONLD.VariableMeasured.Value = new(1.0) }, "/variableMeasured/value is 1,"},
		{"the licence in the JSON-LD", func(s *evidenceServer) { s.snapshot.JSONLD.License = "https://elsewhere.example" }, "/license is https://elsewhere.example"},
		{"the publisher's credit in the JSON-LD", func(s *evidenceServer) { s.snapshot.JSONLD.CreditText = "EIA" }, "DIFFER  json_ld"},
		{"the days that the JSON-LD covers", func(s *evidenceServer) { s.snapshot.JSONLD.TemporalCoverage = "1999-01-01/2026-05-08" }, "DIFFER  json_ld.temporalCoverage"},
		{"the level", func(s *evidenceServer) { s.snapshot.UncertaintyLevel = 0.99 }, "DIFFER  uncertainty_level"},
		{"which program made it", func(s *evidenceServer) { s.evidence.CodeVersion = "1.0" }, "DIFFER  code_version"},
		{"that made-up data are live", func(s *evidenceServer) {
			s.snapshot.Environment, s.evidence.Environment, s.inputs.Environment = "live", "live", "live"
		}, "DIFFER  environment"},
		{"nothing of a sandbox in the disclaimer", func(s *evidenceServer) { s.evidence.Disclaimer = "Editorial information." }, "DIFFER  disclaimer"},
		{"where the bytes of the evidence are", func(s *evidenceServer) { s.evidence.Bodies[0].RawURL = s.evidence.Bodies[1].RawURL }, "leads to other bytes"},
		{"whose list it is", func(s *evidenceServer) { s.inputs.ID = "crack-spread-321" }, "DIFFER  inputs.id"},
		{"as of when the list is", func(s *evidenceServer) { s.inputs.AsOf = s.now.Add(time.Hour) }, "DIFFER  inputs.as_of"},
		{"where the history is", func(s *evidenceServer) { s.snapshot.HistoryURL += "?from=2026-01-01" }, "DIFFER  history_url"},
		{"where the brief is", func(s *evidenceServer) { s.snapshot.BriefURL = "https://elsewhere.example/brief" }, "DIFFER  brief_url"},
		{"where the page is", func(s *evidenceServer) { s.snapshot.PageURL = s.url + "/signals/crack-spread-321" }, "DIFFER  page_url"},
		{"where the list is", func(s *evidenceServer) { s.snapshot.Provenance.URL = s.url + "/api/signals/crack-spread-321/inputs" }, "DIFFER  provenance.url"},
		{"what a component is", func(s *evidenceServer) { s.snapshot.Components[0].Label = "Something else" }, `the server says that it is "Something else"`},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := newEvidenceServer(t)
			c.lie(s)
			s.explained(1, []string{c.want})
		})
	}
}

// A version of the history that was moved to an earlier instant shows a number before its bytes came. Its own times, the snapshot, or the bytes
// contradict it.
func TestExplainFromOutsideFindsAHistoryThatLooksAhead(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	move := func(p *view.SignalHistoryPoint, by time.Duration) { p.KnownFrom = new(p.KnownFrom.Add(by)) }
	for _, c := range []struct {
		what string
		lie  func(s *evidenceServer)
		want string
		code int
	}{
		{"nothing", func(*evidenceServer) {}, "agree  history       of 10 versions: none is known before its numbers were published", 0},
		{"nothing about an older number", func(s *evidenceServer) { s.older() }, "agree  history       of 11 versions", 0},
		{
			"that the newest number was known before it was published", func(s *evidenceServer) { move(&s.newest.Data[0], -2*day) },
			"DIFFER  history of 2026-05-08  the history has it as known from 2026-05-12T20:00:00Z on, and says that it was published at 2026-05-13T14:30:00Z", 1,
		},
		{"that another number was", func(s *evidenceServer) { move(&s.newest.Data[3], -90*day) }, "DIFFER  history of 2026-04-17", 1},
		{"that an older number was", func(s *evidenceServer) {
			s.older()
			move(&s.history.Data[0], -400*day)
		}, "DIFFER  history of 2025-05-09", 1},
		{"that it was published earlier, too", func(s *evidenceServer) {
			p := &s.newest.Data[0]
			move(p, -3*day)
			p.PublishedAt = *p.KnownFrom
		}, "DIFFER  history.published_at", 1},
		{"that another number was published earlier, too", func(s *evidenceServer) {
			p := &s.newest.Data[3]
			move(p, -90*day)
			p.PublishedAt = *p.KnownFrom
		}, "and the bytes make it 2026-04-22T14:30:00Z", 1},
		{"a number that the snapshot of that instant does not have", func(s *evidenceServer) {
			p := s.newest.Data[0]
			p.ObservedAt, p.PublishedAt, p.KnownFrom = p.ObservedAt.Add(7*day), s.now, &s.now
			p.IngestedAt, p.PublishedAtAssumed = s.now, false
			s.newest.Data = append([]view.SignalHistoryPoint{p}, s.newest.Data...)
		}, "and the newest value of the snapshot of 2026-05-14T20:00:00Z is of 2026-05-08T00:00:00Z", 1},
		{"a number between two snapshots", func(s *evidenceServer) {
			p := s.newest.Data[0]
			move(&p, day)
			s.later.Data = []view.SignalHistoryPoint{p}
		}, "known from 2026-05-15T20:00:00Z on, and the newest snapshot of that instant is of 2026-05-14T20:00:00Z", 1},
		{"that bytes came before they were published", func(s *evidenceServer) { s.newest.Data[1].PublishedAtAssumed = false }, "DIFFER  history of 2026-05-01  the history says that it was published", 1},
		{"that a version ended before it began", func(s *evidenceServer) {
			p := s.newest.Data[2]
			p.KnownTo = p.KnownFrom
			s.newest.Data = append(s.newest.Data, p)
			s.newest.Data[2].KnownFrom = new(p.KnownFrom.Add(-time.Second))
		}, "the history has it as known from 2026-05-14T20:00:00Z to 2026-05-14T20:00:00Z", 1},
		{"no instant from which on a number is known", func(s *evidenceServer) { s.newest.Data[4].KnownFrom = nil }, "the server does not say from when on it is known", 1},
		{"nothing of the newest number", func(s *evidenceServer) { s.newest.Data = s.newest.Data[1:] }, "it has no value of 2026-05-08T00:00:00Z, and the snapshot has", 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := newEvidenceServer(t)
			c.lie(s)
			s.explained(c.code, []string{c.want}, "--as-of="+s.now.Add(2*day).Format(time.RFC3339))
		})
	}
}

// A server behind a proxy states its public address, and that is no lie. The report names it.
func TestExplainFromOutsideNamesTheServersOwnAddress(t *testing.T) {
	t.Parallel()
	s := newEvidenceServer(t)
	asked := s.url
	s.url = "https://tidemark.example"
	for i := range s.evidence.Bodies {
		s.evidence.Bodies[i].RawURL = s.url + "/raw/" + s.evidence.Bodies[i].SHA256
	}
	s.compute()
	s.list()
	s.url = asked
	s.explained(0, []string{"are all at https://tidemark.example, and not at " + asked})
}

// A row of corn that repeats the newest forecast counts as final from 15 March on. So the same bytes bring it when they come again.
func TestBytesThatComeAgainAreReadAsOfThatTime(t *testing.T) {
	t.Parallel()
	row := func(period string) nass.Row {
		return nass.Row{
			Program: "SURVEY", Year: "2025", Period: period, Level: "STATE", State: "IOWA", Item: "CORN, GRAIN - YIELD, MEASURED IN BU / ACRE", Domain: "TOTAL", Value: "210",
		}
	}
	page := nass.Spreadsheet([]nass.Row{row("YEAR"), row("YEAR - NOV FORECAST")})
	sum := sha256.Sum256(page)
	digest := hex.EncodeToString(sum[:])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) }))
	defer server.Close()
	reader, err := audit.NewReader(server.URL, maxEvidenceBytes)
	if err != nil {
		t.Fatal(err)
	}
	def, _ := signals.ByID("iowa-corn-yield")
	o := outside{
		reader: reader, def: def, parsed: map[string][]ingest.Reading{}, covered: map[string][]ingest.Coverage{}, vintages: map[string][]series.Observation{},
		came: map[arrival]ingest.Batch{},
	}
	first, again := time.Date(2025, 11, 12, 18, 10, 0, 0, time.UTC), time.Date(2026, 3, 16, 17, 10, 0, 0, time.UTC)
	in := view.InputBody{
		Source: "nass-iowa-corn", URL: nass.SpreadsheetURL("7C4B3D9F-15F6-3EF3-A2C0-7095218FF6A1"), ContentType: "text/csv", SHA256: digest, Bytes: int64(len(page)),
		RetrievedAt: first, RetrievedAgain: []time.Time{again}, Uses: []string{"history"},
	}
	// The evidence names the later time.
	if err := o.body(t.Context(), view.EvidenceBody{SHA256: digest, Source: in.Source, URL: in.URL, ContentType: in.ContentType, RetrievedAt: again, Bytes: in.Bytes}); err != nil {
		t.Fatal(err)
	}
	all := view.Inputs{Data: []view.InputBody{in}}
	if err := o.otherTimes(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	history, _ := o.history(all)
	forecast, final := history["nass.IA.CORN.YIELD.FORECAST"], history["nass.IA.CORN.YIELD.FINAL"]
	if len(forecast) != 1 || !forecast[0].VintageAt.Equal(first) || len(final) != 1 || !final[0].VintageAt.Equal(again) || o.count("", differ) > 0 {
		t.Errorf("the forecast is %+v, the final %+v, and it finds %+v", forecast, final, o.found)
	}
}
