package view

import (
	"context"
	"errors"
	"time"

	"tidemark/internal/postgres"
	"tidemark/signals/forecast"
)

// Forecasts are a signal's recorded forecasts of figures before they are published, each with its grade once they are.
type Forecasts struct {
	ID          string     `json:"id"`
	Data        []Forecast `json:"data"`
	Pagination  Pagination `json:"pagination"`
	Environment string     `json:"environment"`
	Disclaimer  string     `json:"disclaimer"`
}

// Forecast is one recorded forecast. Its numbers are from the recorded text. The hash is the text's SHA-256.
type Forecast struct {
	ID       string         `json:"id"`
	Target   ForecastTarget `json:"target"`
	IssuedAt time.Time      `json:"issued_at"`
	// Quantiles are 23, ascending. Naive are the two forecasts that it is to beat, with the same levels.
	Quantiles []Quantile   `json:"quantiles"`
	Naive     [][]Quantile `json:"naive"`
	// Label is the label that the figure's forecasts had when this forecast was issued.
	Label        string `json:"label"`
	ModelVersion string `json:"model_version"`
	InputsHash   string `json:"inputs_hash"`
	Seq          int64  `json:"seq"`
	// Line is the recorded text.
	Line         string `json:"line"`
	PreviousHash string `json:"previous_hash"`
	Hash         string `json:"hash"`
	// LogIndex is the number of its leaf in the transparency log, ProofURL the file that proves it offline. Both are null while no signed
	// size of the log has it.
	LogIndex  *int64         `json:"log_index"`
	ProofURL  *string        `json:"proof_url"`
	Synthetic bool           `json:"synthetic"`
	Grade     *ForecastGrade `json:"grade"`
}

// ForecastTarget is the figure that is forecast.
type ForecastTarget struct {
	Figure string `json:"figure"`
	Name   string `json:"name"`
	Period string `json:"period"`
	Unit   string `json:"unit"`
	// ReleaseAt is when the figure is published at the earliest.
	ReleaseAt time.Time `json:"release_at"`
}

// Quantile is a value that the figure stays at or below with a probability.
type Quantile struct {
	P     float64 `json:"p"`
	Value float64 `json:"value"`
}

// ForecastGrade is the result of a forecast. Outcome, CRPS and PIT are null if no print came in time. CRPS and PIT have six significant digits;
// the line has all of them.
type ForecastGrade struct {
	Outcome     *float64  `json:"outcome"`
	PublishedAt time.Time `json:"published_at"`
	GradedAt    time.Time `json:"graded_at"`
	CRPS        *float64  `json:"crps"`
	// CRPSNaive are the scores of the two naive forecasts.
	CRPSNaive []float64     `json:"crps_naive"`
	PIT       *float64      `json:"pit"`
	Hits      *ForecastHits `json:"hits"`
	Flags     []string      `json:"flags"`
	Line      string        `json:"line"`
	Hash      string        `json:"hash"`
	LogIndex  *int64        `json:"log_index"`
	ProofURL  *string       `json:"proof_url"`
}

// ForecastHits report whether the central interval with that percentage contained the outcome.
type ForecastHits struct {
	P50 bool `json:"50"`
	P80 bool `json:"80"`
	P90 bool `json:"90"`
}

// ForecastsRequest selects a page of Limit forecasts, newest first.
type ForecastsRequest struct {
	Limit int
	// Format is one of Formats. Empty means JSON.
	Format string
	// Before is the end of the previous page, 0 for the first page.
	Before int64
}

const forecastOrder = "forecasts"

// ReadCursor sets Before from the cursor of the previous page.
func (r *ForecastsRequest) ReadCursor(cursor string) error {
	at, err := decodeCursor(cursor, forecastOrder, 1)
	if err != nil {
		return err
	}
	if at[0] < 1 {
		return errors.New("a forecast's number is 1 at least")
	}
	r.Before = at[0]
	return nil
}

// Forecasts returns a page of the list, and the cursor of the next page, empty if this is the last page.
func (v *View) Forecasts(ctx context.Context, s *Signal, r ForecastsRequest) (doc *Document, next string, err error) {
	list, err := v.forecasts(ctx, s, r.Before, r.Limit+1)
	if err != nil {
		return nil, "", err
	}
	out := v.forecastList(s)
	out.Pagination.Limit = &r.Limit
	if len(list) > r.Limit {
		list = list[:r.Limit]
		next = encodeCursor(forecastOrder, list[r.Limit-1].Seq)
		out.Pagination.NextCursor, out.Pagination.HasMore = &next, true
	}
	for _, f := range list {
		out.Data = append(out.Data, v.newForecast(f))
	}
	doc, err = forecastFile(out, r.Format)
	return doc, next, err
}

// ForecastsOf returns the forecasts of a period, one per figure. The error is postgres.ErrNotFound if the period has no forecasts.
func (v *View) ForecastsOf(ctx context.Context, s *Signal, period string) (*Document, error) {
	list, err := v.forecasts(ctx, s, 0, 0)
	if err != nil {
		return nil, err
	}
	out := v.forecastList(s)
	for _, f := range list {
		if f.Period == period {
			out.Data = append(out.Data, v.newForecast(f))
		}
	}
	if len(out.Data) == 0 {
		return nil, postgres.ErrNotFound
	}
	body, err := Encode(out)
	if err != nil {
		return nil, err
	}
	return NewDocument(TypeJSON, CachePublic, body, time.Time{}), nil
}

// FigureForecasts returns all forecasts of one of a signal's figures, newest first.
func (v *View) FigureForecasts(ctx context.Context, s *Signal, figure string) ([]Forecast, error) {
	list, err := v.forecasts(ctx, s, 0, 0)
	if err != nil {
		return nil, err
	}
	var out []Forecast
	for _, f := range list {
		if f.Figure == figure {
			out = append(out, newForecast(f))
		}
	}
	return out, nil
}

func (v *View) forecastList(s *Signal) Forecasts {
	return Forecasts{ID: s.Definition.ID, Data: []Forecast{}, Environment: s.Snapshot.Environment, Disclaimer: s.Snapshot.Disclaimer}
}

func (v *View) forecasts(ctx context.Context, s *Signal, before int64, limit int) (list []postgres.Forecast, err error) {
	err = v.acquireQuery(ctx, func(ctx context.Context) error {
		list, err = v.o.Store.Forecasts(ctx, s.Definition.ID, v.Now(), before, limit)
		return err
	})
	return list, err
}

// newForecast returns a recorded forecast with the URLs of its proofs.
func (v *View) newForecast(f postgres.Forecast) Forecast {
	out := newForecast(f)
	out.LogIndex, out.ProofURL = f.LogIndex, proofURL(v.o.PublicURL, f.LogIndex)
	if f.Grade != nil {
		out.Grade.LogIndex, out.Grade.ProofURL = f.Grade.LogIndex, proofURL(v.o.PublicURL, f.Grade.LogIndex)
	}
	return out
}

func newForecast(f postgres.Forecast) Forecast {
	target := forecast.Named(f.Signal, f.Figure)
	record := f.Record()
	out := Forecast{
		ID: f.ID, IssuedAt: f.IssuedAt, Label: f.Label, ModelVersion: f.ModelVersion, InputsHash: f.InputsHash, Seq: f.Seq,
		Target:    ForecastTarget{Figure: f.Figure, Name: target.Name, Period: f.Period, Unit: target.Unit, ReleaseAt: f.ScheduledAt},
		Quantiles: quantiles(record.Quantiles), Naive: [][]Quantile{quantiles(record.Naive1), quantiles(record.Naive2)},
		Line: record.Line(), PreviousHash: f.PreviousHash, Hash: f.Hash, Synthetic: f.Synthetic,
	}
	g := f.Grade
	if g == nil {
		return out
	}
	out.Grade = &ForecastGrade{
		PublishedAt: g.PublishedAt, GradedAt: g.GradedAt, CRPSNaive: []float64{}, Flags: nonNil(g.Flags), Line: f.GradeRecord().Line(), Hash: g.Hash,
	}
	if graded, ok := f.Graded(); ok {
		q, y := graded.Quantiles, graded.Outcome
		out.Grade.Outcome, out.Grade.CRPS, out.Grade.PIT = &y, postgres.Statistic(graded.Score), postgres.Statistic(q.PIT(y))
		out.Grade.CRPSNaive = []float64{*postgres.Statistic(graded.Score1), *postgres.Statistic(graded.Score2)}
		out.Grade.Hits = &ForecastHits{P50: q.Holds(50, y), P80: q.Holds(80, y), P90: q.Holds(90, y)}
	}
	return out
}

// ForecastOfLines returns a published forecast, with every member that its lines contain rebuilt from them, and the time of the release
// worked out from figure and period. Other members stay unchanged.
// If a line is invalid, the whole forecast stays unchanged: forecast.Check reports the fault.
func ForecastOfLines(f Forecast) Forecast {
	r, err := forecast.ParseRecord(f.Line)
	if err != nil {
		return f
	}
	release, _ := forecast.Named(r.Signal, r.Figure).ReleaseOf(r.Period)
	p := postgres.Forecast{
		Seq: f.Seq, ID: r.ID, Signal: r.Signal, Figure: r.Figure, Period: r.Period, ScheduledAt: release.ScheduledAt, IssuedAt: r.IssuedAt,
		Quantiles: forecast.Joined(r.Quantiles), Naive1: forecast.Joined(r.Naive1), Naive2: forecast.Joined(r.Naive2), Label: f.Label, ModelVersion: r.ModelVersion,
		InputsHash: r.InputsHash, PreviousHash: r.PreviousHash, Hash: r.Hash(), Synthetic: f.Synthetic,
	}
	if f.Grade != nil {
		g, err := forecast.ParseGrade(f.Grade.Line)
		if err != nil {
			return f
		}
		p.Grade = &postgres.ForecastGrade{
			Outcome: string(g.Outcome), PublishedAt: g.PublishedAt, GradedAt: f.Grade.GradedAt, Score: string(g.Score), Score1: string(g.Score1),
			Score2: string(g.Score2), Flags: g.Flags, PreviousHash: g.PreviousHash, Hash: g.Hash(),
		}
	}
	made := newForecast(p)
	made.LogIndex, made.ProofURL = f.LogIndex, f.ProofURL
	if f.Grade != nil {
		made.Grade.LogIndex, made.Grade.ProofURL = f.Grade.LogIndex, f.Grade.ProofURL
	}
	return made
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func quantiles(list []forecast.Decimal) []Quantile {
	out := make([]Quantile, min(len(list), len(forecast.Levels)))
	for i := range out {
		out[i] = Quantile{forecast.Levels[i], list[i].Float()}
	}
	return out
}

// Scorecards judge the forecasts of a signal's figures.
type Scorecards struct {
	ID          string      `json:"id"`
	Data        []Scorecard `json:"data"`
	HowTo       string      `json:"how_to_recompute"`
	Environment string      `json:"environment"`
	Disclaimer  string      `json:"disclaimer"`
}

// Scorecard rates the forecasts of one figure that were published before its print.
type Scorecard struct {
	Figure string `json:"figure"`
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Label  string `json:"label"`
	// Decayed reports that the live record has become worse than a naive forecast.
	Decayed bool `json:"decayed"`
	// Needed is how many grades a label rests on. Void counts the prints that did not come, Open the forecasts without a print yet.
	Needed int    `json:"grades_needed"`
	Void   int    `json:"void"`
	Open   int    `json:"open"`
	All    Scores `json:"all"`
	Last52 Scores `json:"last_52"`
}

// Scores rate a sequence of forecasts. Null means unknown.
type Scores struct {
	N int `json:"n"`
	// From and To are the first and the last period.
	From *string `json:"from"`
	To   *string `json:"to"`
	// CRPS is the mean score, in the figure's unit.
	CRPS     *float64     `json:"crps"`
	Skill    []SkillScore `json:"skill"`
	Coverage []Coverage   `json:"coverage"`
	// PIT counts the outcomes by tenths of the distributions.
	PIT  []int    `json:"pit_deciles"`
	PITP *float64 `json:"pit_p"`
}

// SkillScore compares with one of the naive forecasts.
type SkillScore struct {
	Naive int      `json:"naive"`
	CRPS  *float64 `json:"crps_naive"`
	Skill *float64 `json:"skill"`
	// Interval holds 90%.
	Interval []*float64 `json:"interval_90"`
	DM       *float64   `json:"dm"`
	P        *float64   `json:"dm_p"`
}

// Coverage is how often a central interval held the outcome, and what number of hits luck alone leaves between 2.5 and 97.5%.
type Coverage struct {
	Percent int      `json:"percent"`
	Hits    int      `json:"hits"`
	Band    []int    `json:"band_95"`
	Width   *float64 `json:"mean_width"`
}

const howToRecompute = "Each forecast's line and its grade's line are hashed as they stand, chained by previous_hash. The scores follow from the quantiles and the outcome alone: " +
	"tidemark scorecard --url=ADDRESS recomputes all of this from the public list."

// lastGrades is how many of the newest grades the shorter scorecard covers.
const lastGrades = 52

// Scorecard returns the scorecards of a signal's figures. The error is postgres.ErrNotFound if none is forecast.
func (v *View) Scorecard(ctx context.Context, s *Signal) (*Document, error) {
	if len(forecast.Of(s.Definition.ID)) == 0 {
		return nil, postgres.ErrNotFound
	}
	list, err := v.forecasts(ctx, s, 0, 0)
	if err != nil {
		return nil, err
	}
	judged := make([]judgedForecast, len(list))
	for i, f := range list {
		g, ok := f.Graded()
		judged[len(list)-1-i] = judgedForecast{figure: f.Figure, period: f.Period, label: f.Label, graded: g, counts: ok, void: f.Grade != nil && !ok}
	}
	out := newScorecards(s.Definition.ID, judged)
	out.Environment, out.Disclaimer = s.Snapshot.Environment, s.Snapshot.Disclaimer
	body, err := Encode(out)
	if err != nil {
		return nil, err
	}
	return NewDocument(TypeJSON, CachePublic, body, time.Time{}), nil
}

// NewScorecards builds the scorecards of a signal from its published lines, in the order of the chain. The caller parses these lines into
// records and graded with forecast.Check. The labels at the time of issue are by forecast id.
func NewScorecards(id string, records []forecast.Record, graded map[string]forecast.Graded, lines []forecast.Published, labels map[string]string) Scorecards {
	ended := map[string]bool{}
	for _, l := range lines {
		if g, err := forecast.ParseGrade(l.GradeLine); err == nil {
			ended[g.ID] = true
		}
	}
	var judged []judgedForecast
	for _, r := range records {
		if r.Signal == id {
			g, ok := graded[r.ID]
			judged = append(judged, judgedForecast{figure: r.Figure, period: r.Period, label: labels[r.ID], graded: g, counts: ok, void: ended[r.ID] && !ok})
		}
	}
	return newScorecards(id, judged)
}

// judgedForecast is a forecast for a scorecard: it counts, its print did not come, or its print is still open.
type judgedForecast struct {
	figure, period, label string
	graded                forecast.Graded
	counts, void          bool
}

func newScorecards(id string, list []judgedForecast) Scorecards {
	out := Scorecards{ID: id, Data: []Scorecard{}, HowTo: howToRecompute}
	for _, t := range forecast.Of(id) {
		out.Data = append(out.Data, newScorecard(t, list))
	}
	return out
}

// newScorecard builds the scorecard of one figure from a signal's forecasts, which are sorted oldest first.
func newScorecard(t forecast.Target, list []judgedForecast) Scorecard {
	out := Scorecard{Figure: t.Figure, Name: t.Name, Unit: t.Unit, Label: forecast.LabelNoSkill, Needed: t.GradesNeeded}
	var graded []forecast.Graded
	var periods []string
	for _, f := range list {
		if f.figure != t.Figure {
			continue
		}
		out.Label = f.label // the label of the newest one
		switch {
		case f.counts:
			graded, periods = append(graded, f.graded), append(periods, f.period)
		case f.void:
			out.Void++
		default:
			out.Open++
		}
	}
	out.Decayed = forecast.Decayed(graded, t.GradesNeeded, t.Monthly)
	out.All = newScores(graded, periods)
	from := max(0, len(graded)-lastGrades)
	out.Last52 = newScores(graded[from:], periods[from:])
	return out
}

func newScores(graded []forecast.Graded, periods []string) Scores {
	s := forecast.NewScorecard(graded)
	out := Scores{N: s.N, CRPS: postgres.Statistic(s.CRPS), Skill: []SkillScore{}, Coverage: []Coverage{}, PIT: s.PIT[:], PITP: postgres.Statistic(s.PITP)}
	if s.N > 0 {
		out.From, out.To = &periods[0], &periods[s.N-1]
	}
	for i, c := range s.Against {
		out.Skill = append(out.Skill, SkillScore{
			Naive: i + 1, CRPS: postgres.Statistic(c.CRPS), Skill: postgres.Statistic(c.Skill), Interval: []*float64{postgres.Statistic(c.Lo), postgres.Statistic(c.Hi)}, DM: postgres.Statistic(c.DM), P: postgres.Statistic(c.P),
		})
	}
	for _, c := range s.Coverage {
		out.Coverage = append(out.Coverage, Coverage{Percent: c.Percent, Hits: c.Hits, Band: []int{c.Lo, c.Hi}, Width: postgres.Statistic(c.Width)})
	}
	return out
}
