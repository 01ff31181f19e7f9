package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/chain/audit"
	"tidemark/chain/tlog"
	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// A publisher may take a change back: the same bytes come again, and their values are in force again, also for who reads from outside.
func TestBytesThatComeAgainCountEachTimeTheyBringSomething(t *testing.T) {
	t.Parallel()
	def, _ := signals.ByID("eia-weekly-petroleum")
	day, came := time.Date(2026, 5, 8, 0, 0, 0, 0, time.UTC), time.Date(2026, 5, 13, 15, 0, 0, 0, time.UTC)
	state := func(v float64) []ingest.Reading {
		return []ingest.Reading{{Series: "eia.WCESTUS1", ObservedAt: day, Value: v}}
	}
	o := outside{def: def, parsed: map[string][]ingest.Reading{"a": state(1), "b": state(2)}}
	body := func(sha256 string, at time.Time, again ...time.Time) view.InputBody {
		return view.InputBody{Source: "eia-petroleum-weekly", SHA256: sha256, RetrievedAt: at, RetrievedAgain: again, Uses: []string{"value", "history"}}
	}
	history, from := o.history(view.Inputs{Data: []view.InputBody{body("a", came, came.Add(2*time.Hour)), body("b", came.Add(time.Hour))}})
	var values []float64
	for _, v := range history["eia.WCESTUS1"] {
		values = append(values, v.Value)
	}
	if bodies := from[observation{"eia.WCESTUS1", day.Unix()}]; !slices.Equal(values, []float64{1, 2, 1}) || !slices.Equal(bodies, []string{"a", "b", "a"}) {
		t.Errorf("the values are %v from %v, want 1, 2 and 1 again from a, b and a", values, bodies)
	}
}

// The backtest is run again on the history that all bodies make, its target's, too.
func TestExplainFromOutsideRunsTheBacktestAgain(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		lie  func(b *postgres.Backtest)
		code int
		want string
	}{
		"nothing":                        {func(*postgres.Backtest) {}, 0, "agree  backtest"},
		"a correlation":                  {func(b *postgres.Backtest) { b.RankIC = new(0.4) }, 1, "/rank_ic is 0.4"},
		"its interval":                   {func(b *postgres.Backtest) { b.RankICBounds[0] = 0.01 }, 1, "/rank_ic_ci95/0 is 0.01"},
		"a number of cases":              {func(b *postgres.Backtest) { b.N += 100 }, 1, "/n_obs"},
		"that it knew nothing later":     {func(b *postgres.Backtest) { b.LookAheadSafe = true }, 1, "/look_ahead_safe is true, false recomputed"},
		"why it may have":                {func(b *postgres.Backtest) { b.LookAheadReason = signals.LookAheadUnwatched }, 1, "/look_ahead_reason is unwatched, revised recomputed"},
		"that in words":                  {func(b *postgres.Backtest) { b.LookAheadText = "Nothing." }, 1, "/look_ahead_text is Nothing."},
		"since when values are recorded": {func(b *postgres.Backtest) { b.Vintages.RecordedFrom = b.Vintages.RecordedFrom.AddDate(-1, 0, 0) }, 1, "/assumed_vintages/recorded_from"},
		"who wins":                       {func(b *postgres.Backtest) { b.Wins = new("signal") }, 1, "/wins is signal"},
		"a p-value":                      {func(b *postgres.Backtest) { b.P = new(0.01) }, 1, "/p_value is 0.01"},
		"a corrected p-value":            {func(b *postgres.Backtest) { b.Trials.AdjustedP = new(0.01) }, 1, "/multiple_testing/adjusted_p is 0.01"},
		"an example":                     {func(b *postgres.Backtest) { b.Examples[1].Happened = new(100.0) }, 1, "/examples/1/happened is 100"},
		"how many tests it allows for": {func(b *postgres.Backtest) {
			b.Trials.Trials, b.Trials.AdjustedP = 1, b.P
		}, 1, "backtest.trials"},
		"no part that is in doubt": {func(b *postgres.Backtest) { b.Vintages = nil }, 1, "/assumed_vintages"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newEvidenceServer(t)
			s.target()
			if s.snapshot.Backtest.N < 500 || s.snapshot.Backtest.LookAheadReason != signals.LookAheadRevised {
				t.Fatalf("the honest backtest has %d cases, look-ahead: %s", s.snapshot.Backtest.N, s.snapshot.Backtest.LookAheadReason)
			}
			c.lie(s.snapshot.Backtest)
			var out, complaint bytes.Buffer
			if code := run(t.Context(), []string{"explain", "eia-weekly-petroleum", "--url=" + s.url, "--world=sandbox"}, &out, &complaint); code != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit %d, want %d and %q: %s\n%s", code, c.code, c.want, complaint.String(), out.String())
			}
		})
	}
}

// A server's evidence is held against the bytes. Any lie about a byte, a value, a cell or a number is found, also where it fits the others.
func TestExplainFromOutsideFindsEveryLie(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		lie  func(s *evidenceServer)
		code int
		want []string
	}{
		{"nothing", func(*evidenceServer) {}, 0, []string{"agree  eia.WCESTUS1 of 2026-05-08", "agree  5 observations", "agree  z_score", `row "2026-May" of the table`, "Everything that could be compared agrees."}},
		{"a byte", func(s *evidenceServer) {
			b := s.evidence.Bodies[0].SHA256
			s.bodies[b] = append([]byte(" "), s.bodies[b][1:]...)
		}, 1, []string{"DIFFER", "have the SHA-256", "MISSING"}},
		{"nothing about an older point of the history", func(s *evidenceServer) { s.older() }, 0, []string{"observed 2025-05-09", "agree  value", "and the history has the same numbers"}},
		{"an older point, in the evidence", func(s *evidenceServer) {
			s.older()
			s.evidence.Numbers.Value = new(*s.evidence.Numbers.Value + 1)
		}, 1, []string{"DIFFER  value", "and the history"}},
		{"an older point, in the history", func(s *evidenceServer) {
			s.older()
			s.history.Data[0].ZScore = new(3.0)
		}, 1, []string{"DIFFER  z_score", "and the history 3"}},
		{"a point that the history does not have", func(s *evidenceServer) {
			s.older()
			s.history.Data = nil
		}, 1, []string{"DIFFER  observed_at", "the history has none about 2025-05-09"}},
		{"that an older point was the newest", func(s *evidenceServer) {
			s.older()
			s.evidence.Newest = true
		}, 1, []string{"DIFFER  observed_at"}},
		{"that the newest was an older point", func(s *evidenceServer) { s.evidence.Newest = false }, 1, []string{"DIFFER  observed_at"}},
		{"when it could be served", func(s *evidenceServer) { s.snapshot.ServedAt = new(s.snapshot.ServedAt.AddDate(0, 0, 1)) }, 1, []string{"DIFFER  served_at"}},
		{"that it was served before it was made", func(s *evidenceServer) {
			s.snapshot.ServedAt, s.evidence.ServedAt = new(s.now.AddDate(0, 0, -1)), new(s.now.AddDate(0, 0, -1))
		}, 1, []string{"DIFFER  served_at", "before the instant"}},
		{"a licence of the snapshot", func(s *evidenceServer) { s.snapshot.License = "do what you like" }, 1, []string{"DIFFER  license"}},
		{"a licence of the list", func(s *evidenceServer) { s.inputs.License = "do what you like" }, 1, []string{"DIFFER  license"}},
		{"a source's address", func(s *evidenceServer) { s.evidence.SourceURL = "https://elsewhere.example" }, 1, []string{"DIFFER  source_url"}},
		{"a unit", func(s *evidenceServer) { s.snapshot.Unit = "barrels" }, 1, []string{"DIFFER  unit"}},
		{"how it is made", func(s *evidenceServer) { s.evidence.Formula = "guessed" }, 1, []string{"DIFFER  formula"}},
		{"that it is stale", func(s *evidenceServer) { s.snapshot.Freshness.State = view.Stale }, 1, []string{"DIFFER  freshness"}},
		{"how old it may be", func(s *evidenceServer) { s.snapshot.Freshness.MaxAgeSeconds *= 2 }, 1, []string{"DIFFER  freshness"}},
		{"the size of a listed body", func(s *evidenceServer) { s.inputs.Data[0].Bytes++ }, 1, []string{"DIFFER  inputs."}},
		{"the address of a listed body", func(s *evidenceServer) { s.inputs.Data[0].URL += "&x=1" }, 1, []string{"DIFFER  inputs."}},
		{"the type of a listed body", func(s *evidenceServer) { s.inputs.Data[0].ContentType = "text/html" }, 1, []string{"DIFFER  inputs."}},
		{"when a listed body came", func(s *evidenceServer) { s.inputs.Data[0].RetrievedAt = s.now.AddDate(0, 0, 1) }, 1, []string{"DIFFER  inputs."}},
		{"that a listed body came again", func(s *evidenceServer) {
			s.inputs.Data[0].RetrievedAgain = []time.Time{s.now.Add(time.Minute)}
		}, 1, []string{"DIFFER  inputs.", "it brought nothing then"}},
		{"what rests on a body", func(s *evidenceServer) { s.inputs.Data[0].Uses = []string{"baseline", "history"} }, 1, []string{"DIFFER  inputs.", "its uses name the value: false"}},
		{"where the bytes are", func(s *evidenceServer) { s.inputs.Data[0].RawURL = s.url + "/raw/" + strings.Repeat("0", 64) }, 1, []string{"DIFFER  inputs.", "leads to other bytes"}},
		{"how many observations came with a body", func(s *evidenceServer) {
			s.target()
			s.inputs.Data[0].Observations++
		}, 1, []string{"DIFFER  inputs.", "observations in force came with it, we count"}},
		{"when a body's newest was published", func(s *evidenceServer) {
			s.target()
			s.inputs.Data[0].PublishedAt = s.inputs.Data[0].PublishedAt.AddDate(0, 0, -1)
		}, 1, []string{"DIFFER  inputs.", "its newest became known at"}},
		{"that a publication was seen", func(s *evidenceServer) {
			s.target()
			s.inputs.Data[0].PublishedAtAssumed = false
		}, 1, []string{"DIFFER  inputs.", "(assumed: false)"}},
		{"nothing about a list with its target", func(s *evidenceServer) { s.target() }, 0, []string{"each body's source, size, times, uses and number of observations"}},
		{"which leaf a body is", func(s *evidenceServer) {
			s.inputs.Data[0].LogIndex, s.inputs.Data[1].LogIndex = s.inputs.Data[1].LogIndex, s.inputs.Data[0].LogIndex
		}, 1, []string{
			"DIFFER  inputs.", "its proof does not hold: its leaf is about another body",
		}},
		{"that a body is a leaf of a log that has fewer", func(s *evidenceServer) { s.inputs.Data[0].LogIndex = new(int64(4)) }, 1, []string{"DIFFER  inputs.", "the log has no such leaf"}},
		{"that a body is the leaf of a later request", func(s *evidenceServer) {
			later := s.inputs.Data[0]
			later.RetrievedAt = later.RetrievedAt.Add(time.Hour)
			s.logBody(&later)
			s.inputs.Data[0].LogIndex = later.LogIndex
		}, 1, []string{"DIFFER  inputs.", "bytes that came at 2026-05-14T21:00:00"}},
		{"that a body is no leaf", func(s *evidenceServer) { s.inputs.Data[2].LogIndex = nil }, 1, []string{"DIFFER  inputs.", "no leaf of the log is about it, and leaf 2 is"}},
		{"that no body is a leaf", func(s *evidenceServer) {
			for i := range s.inputs.Data {
				s.inputs.Data[i].LogIndex = nil
			}
		}, 1, []string{"DIFFER  inputs.", "and leaf 0 is", "and leaf 3 is"}},
		{"nothing where there is no log", func(s *evidenceServer) {
			s.leaves = nil
			for i := range s.inputs.Data {
				s.inputs.Data[i].LogIndex = nil
			}
		}, 0, []string{"the server has no log of sources"}},
		{"the newest body", func(s *evidenceServer) { s.snapshot.Provenance.Inputs[0].SHA256 = strings.Repeat("3", 64) }, 1, []string{"DIFFER  provenance.inputs"}},
		{"a newest body that is left out", func(s *evidenceServer) { s.snapshot.Provenance.Inputs = s.snapshot.Provenance.Inputs[1:] }, 1, []string{"DIFFER  provenance.inputs"}},
		{"who wins, over bytes that are kept back", func(s *evidenceServer) {
			s.shutAll(s.evidence.Bodies[0].SHA256)
			s.snapshot.Backtest.Wins = new("signal")
		}, 1, []string{"withheld  backtest", "DIFFER    backtest", "it does not follow from its own numbers: /wins is signal"}},
		{"a value of a cell", func(s *evidenceServer) { s.evidence.ValueCells[0].Value += 1000 }, 1, []string{"DIFFER  eia.WCESTUS1 of 2026-05-08", "and the bytes"}},
		{"a value of the baseline", func(s *evidenceServer) { s.evidence.BaselineCells[2].Value++ }, 1, []string{"DIFFER  eia.WCESTUS1 of 20"}},
		{"the number", func(s *evidenceServer) {
			s.evidence.Numbers.Value = new(*s.evidence.Numbers.Value + 1)
			s.snapshot.Value = s.evidence.Numbers.Value
		}, 1, []string{"DIFFER  value"}},
		{"a z-score", func(s *evidenceServer) { s.evidence.Numbers.ZScore = new(2.5) }, 1, []string{"DIFFER  z_score", "the snapshot"}},
		{"a lower bound", func(s *evidenceServer) {
			s.evidence.Numbers.UncertaintyLo = new(*s.evidence.Numbers.UncertaintyLo - 1)
			s.snapshot.UncertaintyLo = s.evidence.Numbers.UncertaintyLo
		}, 1, []string{"DIFFER  uncertainty_lo"}},
		{"an upper bound of the snapshot alone", func(s *evidenceServer) { s.snapshot.UncertaintyHi = new(*s.snapshot.UncertaintyHi + 1) }, 1, []string{"DIFFER  uncertainty_hi"}},
		{"a cell of the interval", func(s *evidenceServer) { s.evidence.IntervalCells[9].Value++ }, 1, []string{"THE OBSERVATIONS OF THE INTERVAL\nDIFFER  eia.WCESTUS1 of 20"}},
		{"a cell of the interval that is left out", func(s *evidenceServer) { s.evidence.IntervalCells = s.evidence.IntervalCells[1:] }, 1, []string{"the server leaves it out"}},
		{"a component", func(s *evidenceServer) { s.snapshot.Components[4].Value = new(*s.snapshot.Components[4].Value + 1) }, 1, []string{"DIFFER  components.gasoline_stocks.value"}},
		{"a component's baseline", func(s *evidenceServer) { s.snapshot.Components[4].BaselineValue = nil }, 1, []string{"DIFFER  components.gasoline_stocks.baseline_value"}},
		{"a component that is left out", func(s *evidenceServer) { s.snapshot.Components = s.snapshot.Components[1:] }, 1, []string{"DIFFER  components.week_change"}},
		{"a component too many", func(s *evidenceServer) {
			s.snapshot.Components = append(s.snapshot.Components, s.snapshot.Components[0])
		}, 1, []string{"DIFFER  components.week_change", "the cells make none"}},
		{"hits of the record", func(s *evidenceServer) { s.snapshot.Uncertainty.Record.Hits++ }, 1, []string{"DIFFER  uncertainty.record  "}},
		{"hits of the last years", func(s *evidenceServer) { s.snapshot.Uncertainty.Record.Last2Years.Hits-- }, 1, []string{"DIFFER  uncertainty.record.last_2y"}},
		{"the band of the record", func(s *evidenceServer) { s.snapshot.Uncertainty.Record.CI95[0] += 0.01 }, 1, []string{"DIFFER  uncertainty.record  "}},
		{"the basis", func(s *evidenceServer) { s.snapshot.Uncertainty.Basis = signals.BasisAssumed }, 1, []string{"DIFFER  uncertainty.basis"}},
		{"the level of an interval that is assumed", func(s *evidenceServer) {
			s.snapshot.Uncertainty.Basis, s.snapshot.Uncertainty.Record = signals.BasisAssumed, nil
		}, 1, []string{"DIFFER  uncertainty.basis", "DIFFER  uncertainty.text"}},
		{"hits in the text of the record", func(s *evidenceServer) {
			s.snapshot.Uncertainty.Text = strings.Replace(s.snapshot.Uncertainty.Text, "it held ", "it held 9", 1)
		}, 1, []string{"DIFFER  uncertainty.text"}},
		{"the day of the number", func(s *evidenceServer) { s.snapshot.ObservedAt = new(s.snapshot.ObservedAt.AddDate(0, 0, 7)) }, 1, []string{"DIFFER  observed_at"}},
		{"when the bytes came", func(s *evidenceServer) { s.snapshot.IngestedAt = new(s.snapshot.IngestedAt.AddDate(-1, 0, 0)) }, 1, []string{"DIFFER  ingested_at"}},
		{"that it saw the publication", func(s *evidenceServer) { s.snapshot.PublishedAtAssumed = false }, 1, []string{"DIFFER  published_at_assumed"}},
		{"a publication after the bytes", func(s *evidenceServer) { s.snapshot.PublishedAt = new(s.snapshot.PublishedAt.AddDate(0, 0, 1)) }, 1, []string{"DIFFER  published_at  "}},
		{"that it saw a value being published", func(s *evidenceServer) { s.evidence.BaselineCells[1].PublishedAtAssumed = false }, 1, []string{
			"published_at is 2022-05-11T14:30:00Z (assumed: false), and its bytes came at 2026-05-14T20:00:00Z",
		}},
		{"that it is no sandbox", func(s *evidenceServer) {
			s.snapshot.Synthetic, s.evidence.Synthetic, s.inputs.Synthetic = false, false, false
		}, 1, []string{
			"DIFFER  synthetic", "the server says that the data are real, and 4 bodies say that a sandbox drew them",
		}},
		{"once that it is no sandbox", func(s *evidenceServer) { s.snapshot.Synthetic = false }, 1, []string{"DIFFER  synthetic"}},
		{"a number that is put into a formula", func(s *evidenceServer) {
			s.evidence.Steps[1].Formula = strings.Replace(s.evidence.Steps[1].Formula, "(", "(1", 1)
		}, 1, []string{"DIFFER  steps.baseline"}},
		{"the result of a formula", func(s *evidenceServer) { s.evidence.Steps[1].Result = new(1.0) }, 1, []string{"DIFFER  steps.baseline"}},
		{"a formula that is left out", func(s *evidenceServer) { s.evidence.Steps = s.evidence.Steps[1:] }, 1, []string{"DIFFER  steps.value"}},
		{"a formula too many", func(s *evidenceServer) {
			s.evidence.Steps = append(s.evidence.Steps, view.EvidenceStep{Name: "tail"})
		}, 1, []string{"DIFFER  steps.tail"}},
		{"that its numbers do not follow from the cells, with formulas that are none", func(s *evidenceServer) {
			s.evidence.Recomputed = false
			for i := range s.evidence.Steps {
				s.evidence.Steps[i].Formula, s.evidence.Steps[i].Result = "1 + 1", new(2.0)
			}
		}, 1, []string{"DIFFER  recomputed", "DIFFER  steps.value", "DIFFER  steps.baseline"}},
		{"what the interval bounds", func(s *evidenceServer) { s.snapshot.Uncertainty.Bounds = signals.BoundsTrue }, 1, []string{"DIFFER  uncertainty.bounds"}},
		{"a cell that is left out, with numbers that fit", func(s *evidenceServer) {
			s.evidence.BaselineCells = s.evidence.BaselineCells[1:]
			var sum float64
			for _, c := range s.evidence.BaselineCells {
				sum += c.Value
			}
			s.evidence.Numbers.BaselineValue, s.evidence.Numbers.N = new(sum/4), 4
			s.snapshot.BaselineValue = s.evidence.Numbers.BaselineValue
		}, 1, []string{"the server leaves it out", "DIFFER  baseline_value"}},
		{"a cell too many", func(s *evidenceServer) {
			more := s.evidence.BaselineCells[0]
			more.ObservedAt = more.ObservedAt.AddDate(0, 0, 7)
			s.evidence.BaselineCells = append(s.evidence.BaselineCells, more)
		}, 1, []string{"DIFFER  eia.WCESTUS1"}},
		{"a cell twice", func(s *evidenceServer) {
			s.evidence.BaselineCells = append(s.evidence.BaselineCells, s.evidence.BaselineCells[0])
		}, 1, []string{"twice"}},
		{"a day of a cell", func(s *evidenceServer) {
			s.evidence.BaselineCells[1].ObservedAt = s.evidence.BaselineCells[1].ObservedAt.AddDate(0, 0, 1)
		}, 1, []string{"the bytes do not state it"}},
		{"a body of no cell's", func(s *evidenceServer) { s.evidence.ValueCells[0].SHA256 = strings.Repeat("0", 64) }, 1, []string{"is not among those"}},
		{"a hash that leads elsewhere", func(s *evidenceServer) { s.evidence.Bodies[0].SHA256 = "../../api/v1/info" }, 1, []string{"this is no SHA-256"}},
		{"a source", func(s *evidenceServer) { s.evidence.Bodies[0].Source = "worldbank-pink-sheet" }, 1, []string{"our parser does not read it"}},
		{"a root", func(s *evidenceServer) { s.snapshot.Provenance.MerkleRoot = strings.Repeat("0", 64) }, 1, []string{"DIFFER  provenance"}},
		{"a list without the body", func(s *evidenceServer) { s.inputs.Data[0].SHA256 = strings.Repeat("1", 64) }, 1, []string{"DIFFER  provenance"}},
		{"bytes that are lost", func(s *evidenceServer) { clear(s.bodies) }, 1, []string{"MISSING", "the server answers 404"}},
		{"bytes that are kept back", func(s *evidenceServer) { s.shutAll(s.evidence.Bodies[0].SHA256) }, 0, []string{
			"withheld  ", "Leaf 0 of log.example names the hash", "the bytes are kept back", "1 of 4 bodies are kept back",
		}},
		{"a proof of another body", func(s *evidenceServer) { s.shutAll(strings.Repeat("2", 64)) }, 1, []string{"its proof does not hold"}},
		{"a number over bytes that are kept back", func(s *evidenceServer) {
			s.shutAll(s.evidence.Bodies[0].SHA256)
			s.evidence.Numbers.BaselineValue = new(1.0)
		}, 1, []string{"DIFFER  baseline_value"}},
		{"nothing about an observation that its publisher took back", (*evidenceServer).takeBack, 0, []string{
			"TAKEN BACK BY THEIR PUBLISHERS", `the bytes state "NA"`, "agree  4 observations", "Everything that could be compared agrees.",
		}},
		{"that a publisher took an observation back", func(s *evidenceServer) {
			s.takeBack()
			s.evidence.Withdrawn[0].SHA256 = s.evidence.Bodies[0].SHA256
		}, 1, []string{"the server says that it was taken back, and the bytes state", "the server leaves it out"}},
		{"that an observation stayed taken back", func(s *evidenceServer) {
			s.takeBack()
			s.add(append(s.bodies[s.evidence.Bodies[0].SHA256], '\n'), 2*time.Hour)
		}, 1, []string{"and later bytes state", "the server leaves it out"}},
		{"a body that took an observation back", func(s *evidenceServer) {
			s.takeBack()
			s.evidence.Withdrawn[0].SHA256 = strings.Repeat("0", 64)
		}, 1, []string{"is not among those"}},
		{"about what no page reaches to", func(s *evidenceServer) {
			s.takeBack()
			s.evidence.Withdrawn[0].Series = "eia.WGTSTUS1"
		}, 1, []string{"the bytes do not reach to it"}},
		{"by a body that is kept back", func(s *evidenceServer) {
			s.takeBack()
			b := s.evidence.Bodies[len(s.evidence.Bodies)-1]
			leaf, _ := tlog.FormatLeaf(tlog.KindBody, b.Source, strings.Repeat("0", 64), tlog.FormatTime(b.RetrievedAt), b.SHA256, strconv.FormatInt(b.Bytes, 10), "false")
			s.shut[b.SHA256] = leaf
		}, 0, []string{"taken back, as the server says"}},
		{"escapes", func(s *evidenceServer) { s.evidence.ValueCells[0].Series = "\x1b[2J" }, 1, []string{"DIFFER"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := newEvidenceServer(t)
			c.lie(s)
			out := s.explained(c.code, c.want)
			if strings.Contains(out, "\x1b") {
				t.Error("the server's escapes reach the terminal")
			}
			var report struct{ Differ, Missing, Withheld, Agree int }
			var asJSON, complaint bytes.Buffer
			if again := run(t.Context(), []string{"explain", "eia-weekly-petroleum", "--url=" + s.url, "--world=sandbox", "--json"}, &asJSON, &complaint); again != c.code ||
				json.Unmarshal(asJSON.Bytes(), &report) != nil || (report.Differ+report.Missing > 0) != (c.code != 0) {
				t.Errorf("--json: exit %d, %+v", again, report)
			}
		})
	}
}

// A value that an older program stored with fewer decimals is the bytes' value, where the source counts that difference as no revision.
func TestAValueWithFewerDigitsIsThatOfTheBytes(t *testing.T) {
	t.Parallel()
	o := outside{stated: view.Evidence{Bodies: []view.EvidenceBody{{SHA256: "a", Source: "worldbank-pink-sheet"}, {SHA256: "b", Source: "eia-petroleum-weekly"}}}}
	for _, c := range []struct {
		series, body  string
		stated, bytes float64
		want          bool
	}{
		{"worldbank.NGAS_EUR", "a", 8.97, 8.97310549954, true},
		{"worldbank.NGAS_EUR", "a", 8.98, 8.97310549954, false},
		{"worldbank.NGAS_EUR", "a", 8.9721, 8.97310549954, false},
		{"worldbank.NGAS_EUR", "a", 9, 8.97310549954, false},
		{"eia.WPULEUS3", "b", 92, 92.001, false},
		{"worldbank.NGAS_EUR", "c", 8.97, 8.97310549954, false},
	} {
		if got := o.shortened(view.EvidenceCell{Series: c.series, SHA256: c.body, Value: c.stated}, c.bytes); got != c.want {
			t.Errorf("%s %v and %v: %t, want %t", c.series, c.stated, c.bytes, got, c.want)
		}
	}
}

func TestExplainAsksForABoundedNumberOfBodies(t *testing.T) {
	t.Parallel()
	s := newEvidenceServer(t)
	for range maxEvidenceBodies {
		s.evidence.Bodies = append(s.evidence.Bodies, s.evidence.Bodies[0])
	}
	def, _ := signals.ByID("eia-weekly-petroleum")
	err := explainCommand{URL: s.url}.fromOutside(t.Context(), &program{stdout: &strings.Builder{}}, def)
	if err == nil || !strings.Contains(err.Error(), "are not read") {
		t.Errorf("%d bodies: %v", len(s.evidence.Bodies), err)
	}
}

// A workbook is a zip archive: its note is found within. Other bytes are read without a fault.
func FuzzNoteOfASandbox(f *testing.F) {
	var workbook bytes.Buffer
	w := zip.NewWriter(&workbook)
	part, err := w.Create("xl/sharedStrings.xml")
	if err != nil {
		f.Fatal(err)
	}
	if _, err := part.Write([]byte("<t>Synthetic figures, drawn by a sandbox. Not data of a publisher.</t>")); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	if !drawnBySandbox(workbook.Bytes()) || drawnBySandbox([]byte("PK, a page of a publisher")) {
		f.Fatal("the note within a workbook is not found, or found where there is none")
	}
	f.Add(workbook.Bytes(), 0)
	f.Add(workbook.Bytes(), 40)
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		plain := append(slices.Clone(body), sandboxNote...)
		if !drawnBySandbox(plain) {
			t.Error("a note at the end of a body is not found")
		}
		drawnBySandbox(body[min(max(cut, 0), len(body)):])
	})
}

func FuzzEvidenceOfAServer(f *testing.F) {
	f.Add([]byte(`{"id":"eia-weekly-petroleum","observed_at":"2026-05-08T00:00:00Z","as_of":"2026-05-14T00:00:00Z","numbers":{"value":1,"n":2},
		"value_cells":[{"series":"eia.WCESTUS1","observed_at":"2026-05-08T00:00:00Z","value":1,"sha256":"a"}],"bodies":[{"sha256":"a"}]}`))
	def, _ := signals.ByID("eia-weekly-petroleum")
	gone, cancel := context.WithCancel(f.Context())
	cancel() // nobody is asked
	f.Fuzz(func(t *testing.T, evidence []byte) {
		o := outside{def: def, parsed: map[string][]ingest.Reading{}, withheld: map[string]bool{}}
		var err error
		if o.reader, err = audit.NewReader("https://a.example", 1); err != nil {
			t.Fatal(err)
		}
		if audit.Decode(evidence, &o.stated) != nil || o.acceptable() != nil {
			return
		}
		for _, b := range o.stated.Bodies {
			_ = o.keptBack(gone, b, evidence)
		}
		o.cells("value", o.stated.ValueCells)
		o.cells("baseline", o.stated.BaselineCells)
		o.numbers()
		var out strings.Builder
		if err := o.report(&out, false); err != nil {
			t.Error(err)
		}
		if strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) {
			t.Errorf("the server commands the terminal: %q", out.String())
		}
	})
}
