package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"text/tabwriter"
	"time"

	"tidemark/api/view"
	"tidemark/chain/audit"
	"tidemark/internal/config"
	"tidemark/signals/forecast"
)

type scorecardCommand struct {
	config.Address

	URL  string `help:"The server. Default: PUBLIC_URL, or else ADDR." placeholder:"URL"`
	JSON bool   `name:"json" help:"Print the scorecards as JSON."`
}

// errWrongForecasts ends a recomputation that found a fault, after the report has described it.
var errWrongForecasts = errors.New("the record of the forecasts is contradicted")

// Run reads a server's public list of forecasts, recomputes all hashes and grades, and compares them with the server's scorecards.
func (c scorecardCommand) Run(ctx context.Context, p *program) error {
	base := c.URL
	if base == "" {
		base = p.settings.BaseURL()
	}
	list, cards, faults, err := judgeServer(ctx, base)
	if err != nil {
		return fmt.Errorf("read the forecasts of %s: %w", base, err)
	}
	if c.JSON {
		err = writeJSON(p.stdout, struct {
			URL        string            `json:"url"`
			Forecasts  int               `json:"forecasts"`
			Scorecards []view.Scorecards `json:"scorecards"`
			Faults     []string          `json:"faults"`
		}{base, len(list), cards, append([]string{}, faults...)})
	} else {
		err = printScorecards(p.stdout, base, list, cards, faults)
	}
	if err == nil && len(faults) > 0 {
		err = errWrongForecasts
	}
	return err
}

const (
	// maxForecasts and maxForecastsBytes limit what a server may send: forecasts of all figures for decades. maxForecastBytes limits a page.
	maxForecasts      = 30_000
	maxForecastsBytes = 128 << 20
	maxForecastBytes  = 8 << 20
	forecastPage      = "500"
)

// judgeServer reads everything and recomputes it. It reads the lists before the scorecards, and the record may grow in between. So after a
// difference, it reads everything once more.
func judgeServer(ctx context.Context, base string) (list []view.Forecast, cards []view.Scorecards, faults []string, err error) {
	for range 2 {
		reader, err := audit.NewReader(base, maxForecastsBytes)
		if err != nil {
			return nil, nil, nil, err
		}
		var stated []view.Scorecards
		if list, stated, err = everyForecast(ctx, reader); err != nil {
			return nil, nil, nil, err
		}
		if cards, faults = judgeForecasts(list, stated, time.Now()); len(faults) == 0 {
			break
		}
	}
	return list, cards, faults, nil
}

// signalsForecast returns the signals with a forecast figure, each once.
func signalsForecast() (ids []string) {
	for _, t := range forecast.All() {
		if !slices.Contains(ids, t.Signal) {
			ids = append(ids, t.Signal)
		}
	}
	return ids
}

// everyForecast reads all forecasts, in the order of their chain, and the server's scorecards.
func everyForecast(ctx context.Context, reader *audit.Reader) (list []view.Forecast, stated []view.Scorecards, err error) {
	for _, id := range signalsForecast() {
		path := "/api/signals/" + url.PathEscape(id)
		var card view.Scorecards
		if err := reader.JSON(ctx, path+"/scorecard", maxForecastBytes, &card); err != nil {
			return nil, nil, err
		}
		stated = append(stated, card)
		for query := "?limit=" + forecastPage; query != ""; {
			var page view.Forecasts
			if err := reader.JSON(ctx, path+"/forecasts"+query, maxForecastBytes, &page); err != nil {
				return nil, nil, err
			}
			if list = append(list, page.Data...); len(list) > maxForecasts {
				return nil, nil, fmt.Errorf("it lists more than %d forecasts", maxForecasts)
			}
			query = ""
			if next := page.Pagination.NextCursor; next != nil && len(page.Data) > 0 {
				query = "?limit=" + forecastPage + "&cursor=" + url.QueryEscape(*next)
			}
		}
	}
	slices.SortFunc(list, func(a, b view.Forecast) int { return cmp.Compare(a.Seq, b.Seq) })
	return list, stated, nil
}

// judgeForecasts computes the scorecards from the lines alone, and reports where the server's scorecards differ. now is the reader's clock.
func judgeForecasts(list []view.Forecast, stated []view.Scorecards, now time.Time) (cards []view.Scorecards, faults []string) {
	lines := make([]forecast.Published, len(list))
	labels := map[string]string{}
	for i, f := range list {
		lines[i] = forecast.Published{Line: f.Line, Hash: f.Hash}
		if f.Grade != nil {
			lines[i].GradeLine, lines[i].GradeHash = f.Grade.Line, f.Grade.Hash
		}
		labels[f.ID] = f.Label
	}
	records, graded, faults := forecast.Check(lines, now)
	for i, f := range list {
		if f.Seq != int64(i+1) {
			faults = append(faults, fmt.Sprintf("%s has the number %d, it is the %dth that is listed", f.ID, f.Seq, i+1))
			break
		}
	}
	for _, f := range list {
		// The label is not part of a line. Only the server states it.
		if at := differs(view.ForecastOfLines(f), f); at != "" {
			faults = append(faults, fmt.Sprintf("%s says beside its line that %s", f.ID, at))
		}
	}
	faults = append(faults, besideLines(list, graded, now)...)
	for i, s := range stated {
		if want := signalsForecast()[i]; s.ID != want {
			faults = append(faults, fmt.Sprintf("the scorecard of %s is said to be that of %s", want, s.ID))
			continue
		}
		mine := view.NewScorecards(s.ID, records, graded, lines, labels)
		cards = append(cards, mine)
		if at := differsBy(mine.Data, s.Data, lastDigit); at != "" {
			faults = append(faults, fmt.Sprintf("%s: the server's scorecard differs from the one recomputed: %s", s.ID, at))
		}
	}
	return cards, faults
}

// besideLines checks what a forecast says beside its lines and no line has: its label, when it was graded, and whether it is made up. The label skill follows from the
// grades that were known when the forecast was issued. Whether another label is provisional follows from forecasts that are not listed.
func besideLines(list []view.Forecast, graded map[string]forecast.Graded, now time.Time) (faults []string) {
	type figure struct{ signal, name string }
	type live struct {
		known  time.Time
		graded forecast.Graded
	}
	all := map[figure][]live{}
	for _, f := range list {
		if f.Synthetic != list[0].Synthetic {
			faults = append(faults, fmt.Sprintf("%s is said to be made up: %t, and %s: %t; a record is of one world", f.ID, f.Synthetic, list[0].ID, list[0].Synthetic))
			break
		}
	}
	for _, f := range list {
		r, err := forecast.ParseRecord(f.Line)
		if err != nil || f.Grade == nil {
			continue
		}
		if g, err := forecast.ParseGrade(f.Grade.Line); err == nil {
			if f.Grade.GradedAt.Before(g.PublishedAt) {
				faults = append(faults, fmt.Sprintf("%s was graded at %s, before its print of %s", f.ID, f.Grade.GradedAt.Format(time.RFC3339), g.PublishedAt.Format(time.RFC3339)))
			}
			if f.Grade.GradedAt.After(now.Add(forecast.ClockSkew)) {
				faults = append(faults, fmt.Sprintf("%s was graded at %s, which is still to come", f.ID, f.Grade.GradedAt.Format(time.RFC3339)))
			}
			if counts, ok := graded[r.ID]; ok {
				all[figure{r.Signal, r.Figure}] = append(all[figure{r.Signal, r.Figure}], live{g.PublishedAt, counts})
			}
		}
	}
	for _, f := range list {
		r, err := forecast.ParseRecord(f.Line)
		if err != nil {
			continue
		}
		var known []forecast.Graded
		for _, l := range all[figure{r.Signal, r.Figure}] {
			if !l.known.After(r.IssuedAt) {
				known = append(known, l.graded)
			}
		}
		earned := forecast.Label(known, nil, forecast.Named(r.Signal, r.Figure).GradesNeeded) == forecast.LabelSkill
		switch {
		case !slices.Contains([]string{forecast.LabelSkill, forecast.LabelProvisional, forecast.LabelNoSkill}, f.Label):
			faults = append(faults, fmt.Sprintf("%s has the unknown label %.40q", f.ID, f.Label))
		case earned != (f.Label == forecast.LabelSkill):
			faults = append(faults, fmt.Sprintf("%s has the label %s, and the %d grades that were known when it was issued say otherwise", f.ID, f.Label, len(known)))
		}
	}
	return faults
}

// tolerance is the maximum difference of numbers that two programs computed from the same lines.
const tolerance = 1e-12

// lastDigit is the maximum relative difference of two statistics that both were rounded, to postgres.StatisticDigits. A server of an older
// program does not round them.
const lastDigit = 1.01e-5

// differs compares two values in their JSON form. It returns the difference, or an empty text if they are equal.
func differs(a, b any) string { return differsBy(a, b, 0) }

// differsBy is differs for values with statistics, which may differ by a share of their size.
func differsBy(a, b any, relative float64) string {
	var x, y any
	for _, v := range []struct {
		from any
		to   *any
	}{{a, &x}, {b, &y}} {
		text, err := json.Marshal(v.from)
		if err != nil || json.Unmarshal(text, v.to) != nil {
			return "it is no JSON"
		}
	}
	return differsAt("", x, y, relative)
}

func differsAt(at string, x, y any, relative float64) string {
	switch x := x.(type) {
	case map[string]any:
		other, _ := y.(map[string]any)
		for key := range x {
			if d := differsAt(at+"/"+key, x[key], other[key], relative); d != "" {
				return d
			}
		}
		return ""
	case []any:
		other, _ := y.([]any)
		if len(x) != len(other) {
			return fmt.Sprintf("%s has %d members, %d recomputed", at, len(other), len(x))
		}
		for i := range x {
			if d := differsAt(fmt.Sprintf("%s/%d", at, i), x[i], other[i], relative); d != "" {
				return d
			}
		}
		return ""
	case float64:
		if other, ok := y.(float64); ok && math.Abs(x-other) <= max(tolerance*max(1, math.Abs(x)), relative*math.Abs(x)) {
			return ""
		}
	default:
		if x == y {
			return ""
		}
	}
	return fmt.Sprintf("%s is %.200s, %.200s recomputed", at, fmt.Sprint(y), fmt.Sprint(x))
}

func printScorecards(out io.Writer, base string, list []view.Forecast, cards []view.Scorecards, faults []string) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SIGNAL\tFIGURE\tGRADED\tOPEN\tVOID\tCRPS\tSKILL 1\tSKILL 2\t50 %\t80 %\t90 %\tLABEL")
	for _, s := range cards {
		for _, c := range s.Data {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s", s.ID, printable(c.Figure), c.All.N, c.Open, c.Void, significant(c.All.CRPS))
			for _, k := range c.All.Skill {
				_, _ = fmt.Fprintf(w, "\t%s", share(k.Skill))
			}
			for _, v := range c.All.Coverage {
				_, _ = fmt.Fprintf(w, "\t%d (%d-%d)", v.Hits, v.Band[0], v.Band[1])
			}
			_, _ = fmt.Fprintf(w, "\t%s\n", printable(c.Label))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range faults {
		_, _ = fmt.Fprintf(out, "MISMATCH  %s\n", printable(f))
	}
	verdict := "All lines hash to what is stated and hang together, each is older than its print was due, every score was recomputed, and the scorecards agree. " +
		"The outcomes, their times, and that no print came are the server's word: compare them with the publisher's figures."
	if len(faults) > 0 {
		verdict = fmt.Sprintf("Contradicted: %d faults.", len(faults))
	}
	_, err := fmt.Fprintf(out, "\n%d forecasts of %s. %s\n", len(list), printable(base), verdict)
	return err
}

func significant(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *x)
}

func share(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**x)
}
