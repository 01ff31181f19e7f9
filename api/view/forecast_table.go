package view

import (
	"strings"
	"time"

	"tidemark/internal/columns"
)

// ForecastRow is a forecast with its grade as one row of a table. line and grade_line contain all quantiles.
type ForecastRow struct {
	Seq          int64     `json:"seq"`
	ID           string    `json:"id"`
	Figure       string    `json:"figure"`
	Name         string    `json:"name"`
	Period       string    `json:"period"`
	Unit         string    `json:"unit"`
	ReleaseAt    time.Time `json:"release_at"`
	IssuedAt     time.Time `json:"issued_at"`
	P05          *float64  `json:"p05"`
	P10          *float64  `json:"p10"`
	P25          *float64  `json:"p25"`
	P50          *float64  `json:"p50"`
	P75          *float64  `json:"p75"`
	P90          *float64  `json:"p90"`
	P95          *float64  `json:"p95"`
	Label        string    `json:"label"`
	ModelVersion string    `json:"model_version"`
	Synthetic    bool      `json:"synthetic"`

	Outcome     *float64   `json:"outcome"`
	PublishedAt *time.Time `json:"published_at"`
	GradedAt    *time.Time `json:"graded_at"`
	CRPS        *float64   `json:"crps"`
	CRPSNaive1  *float64   `json:"crps_naive_1"`
	CRPSNaive2  *float64   `json:"crps_naive_2"`
	PIT         *float64   `json:"pit"`
	Hit50       *bool      `json:"hit_50"`
	Hit80       *bool      `json:"hit_80"`
	Hit90       *bool      `json:"hit_90"`
	// Flags are separated by spaces.
	Flags *string `json:"flags"`

	LogIndex      *int64  `json:"log_index"`
	GradeLogIndex *int64  `json:"grade_log_index"`
	Line          string  `json:"line"`
	PreviousHash  string  `json:"previous_hash"`
	Hash          string  `json:"hash"`
	GradeLine     *string `json:"grade_line"`
	GradeHash     *string `json:"grade_hash"`
}

func newForecastRow(f Forecast) ForecastRow {
	at := map[float64]*float64{}
	for _, q := range f.Quantiles {
		at[q.P] = &q.Value
	}
	out := ForecastRow{
		Seq: f.Seq, ID: f.ID, Figure: f.Target.Figure, Name: f.Target.Name, Period: f.Target.Period, Unit: f.Target.Unit, ReleaseAt: f.Target.ReleaseAt,
		IssuedAt: f.IssuedAt, P05: at[0.05], P10: at[0.10], P25: at[0.25], P50: at[0.50], P75: at[0.75], P90: at[0.90], P95: at[0.95], Label: f.Label,
		ModelVersion: f.ModelVersion, Synthetic: f.Synthetic, LogIndex: f.LogIndex, Line: f.Line, PreviousHash: f.PreviousHash, Hash: f.Hash,
	}
	g := f.Grade
	if g == nil {
		return out
	}
	out.Outcome, out.PublishedAt, out.GradedAt, out.CRPS, out.PIT = g.Outcome, &g.PublishedAt, &g.GradedAt, g.CRPS, g.PIT
	out.Flags, out.GradeLogIndex, out.GradeLine, out.GradeHash = new(strings.Join(g.Flags, " ")), g.LogIndex, &g.Line, &g.Hash
	if len(g.CRPSNaive) == 2 {
		out.CRPSNaive1, out.CRPSNaive2 = &g.CRPSNaive[0], &g.CRPSNaive[1]
	}
	if g.Hits != nil {
		out.Hit50, out.Hit80, out.Hit90 = &g.Hits.P50, &g.Hits.P80, &g.Hits.P90
	}
	return out
}

// forecastFile returns a page of forecasts in a format. NDJSON has the objects of JSON, the tables have a ForecastRow for each.
func forecastFile(out Forecasts, format string) (*Document, error) {
	rows := make([]ForecastRow, len(out.Data))
	for i, f := range out.Data {
		rows[i] = newForecastRow(f)
	}
	var body []byte
	var err error
	switch format {
	case FormatCSV:
		body = csvOf(rows)
	case FormatParquet, FormatArrow:
		body, err = columnarOf(format, rows, append(aboutTable(out.Environment, out.Disclaimer), columns.Pair{Key: "id", Value: out.ID}))
	case FormatNDJSON:
		for _, f := range out.Data {
			line, err := Encode(f)
			if err != nil {
				return nil, err
			}
			body = append(body, line...)
		}
	default:
		format = FormatJSON
		body, err = Encode(out)
	}
	if err != nil {
		return nil, err
	}
	return newFile(format, body, time.Time{}), nil
}
