package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// notRecomputed says which members of the responses this comparison leaves out, and why.
const notRecomputed = "Not compared: who signed the log (tidemark verify --proof), whether /api/methods lists all versions (they are leaves of the log), and the status, which also follows " +
	"from the graded forecasts (tidemark scorecard --url) and from what operators set. Nor what only the server can know: the content types that its publishers sent, which " +
	"of their values were there at its first request, the names of its program's versions and of its runs, and whether an environment is live if no bytes say otherwise."

// record downloads every body that the signal rests on, and makes the history of all values from the bytes. Then it counts again how often
// the intervals held their truth, and runs the backtest again.
func (o *outside) record(ctx context.Context, all view.Inputs, snapshot view.SignalSnapshot) error {
	stated := snapshot.Uncertainty
	if stated.Bounds != o.def.Interval.Bounds {
		o.say("record", differ, "uncertainty.bounds", "the server says %s, and the method bounds %s", stated.Bounds, o.def.Interval.Bounds)
	}
	if o.def.Interval.Trials == nil {
		o.sameRecord(stated, signals.BasisAssumed, nil, "the bounded value is never seen")
	}
	if snapshot.Backtest == nil {
		o.say("record", missing, "uncertainty", "the snapshot does not say as of when it was counted")
		return nil
	}
	if err := o.concluded(ctx, *snapshot.Backtest, o.stated.AsOf); err != nil {
		return err
	}
	if len(all.Data) > maxEvidenceBodies {
		return fmt.Errorf("%s lists %d bodies behind %s: more than %d are not read", o.reader.Base(), len(all.Data), o.def.ID, maxEvidenceBodies)
	}
	for _, b := range all.Data {
		if _, read := o.parsed[b.SHA256]; read || o.withheld[b.SHA256] || !feeds(b.Source, o.def.BacktestInputs()) {
			continue
		}
		if err := o.body(ctx, view.EvidenceBody{
			SHA256: b.SHA256, Source: b.Source, URL: b.URL, ContentType: b.ContentType, RetrievedAt: b.RetrievedAt, Bytes: b.Bytes,
		}); err != nil {
			return err
		}
	}
	if err := o.otherTimes(ctx, all); err != nil {
		return err
	}
	unread := func(ids []series.ID) (n int) {
		for _, b := range all.Data {
			if _, read := o.parsed[b.SHA256]; !read && feeds(b.Source, ids) {
				n++
			}
		}
		return n
	}
	at := snapshot.Backtest.ComputedAt
	history, from := o.history(all)
	o.known(all, snapshot, made{history, from, func(id series.ID) bool { return unread([]series.ID{id}) == 0 }})
	if unread(o.def.BacktestInputs()) > 0 {
		o.members(all, nil, nil)
	} else {
		o.members(all, history, from)
	}
	for id, list := range history {
		history[id] = slices.DeleteFunc(list, func(v series.Observation) bool { return v.VintageAt.After(at) })
	}
	if n := unread(o.def.Inputs); n > 0 && o.def.Interval.Trials != nil {
		o.say("record", hidden, "uncertainty.record", "%d of %d bodies were not read, so the record is the server's word: it goes through every first value and every re-estimate",
			n, len(all.Data))
	} else if o.def.Interval.Trials != nil {
		basis, record := o.def.MeasureInterval(firsts(history), history, at)
		o.sameRecord(stated, basis, record, fmt.Sprintf("from %d bodies", len(all.Data)))
	}
	if n := unread(o.def.BacktestInputs()); n > 0 {
		o.say("record", hidden, "backtest", "%d of %d bodies were not read, so the backtest is the server's word", n, len(all.Data))
		return nil
	}
	o.backtest(*snapshot.Backtest, history, all)
	return nil
}

// firsts are the first values of each observation, unless its publisher gave none.
func firsts(history map[series.ID][]series.Observation) series.Set {
	out := series.Set{}
	for id, list := range history {
		for _, v := range list {
			points := out[id]
			if known := len(points) > 0 && points[len(points)-1].ObservedAt == series.InstantOf(v.ObservedAt); !known && v.Marker == "" {
				out[id] = append(points, v.Point())
			}
		}
	}
	return out
}

// feeds reports whether a source publishes one of some series.
func feeds(source string, ids []series.ID) bool {
	src, known := sourceByID(source)
	return !known || slices.ContainsFunc(src.Series, func(i series.Info) bool { return slices.Contains(ids, i.ID) })
}

// history makes all values of the inputs, each with the time at which it became known, from the bodies in the order in which they came. They
// are by time of observation and vintage. from names, for each observation, the body behind each of its values.
func (o *outside) history(all view.Inputs) (out map[series.ID][]series.Observation, from map[observation][]string) {
	list := map[observation][]series.Observation{}
	from = map[observation][]string{}
	var bodies []view.InputBody // each as often as it came
	for _, b := range all.Data {
		bodies = append(bodies, b)
		for _, at := range b.RetrievedAgain {
			b.RetrievedAt = at
			bodies = append(bodies, b)
		}
	}
	slices.SortStableFunc(bodies, func(a, b view.InputBody) int { return a.RetrievedAt.Compare(b.RetrievedAt) })
	for _, b := range bodies {
		src, _ := sourceByID(b.Source)
		first := func(id series.ID) bool {
			return slices.Contains(b.AssumedSeries, string(id)) || !slices.Contains(o.def.Inputs, id) && o.firstBody(all, id) == b.SHA256
		}
		as := o.asCame(b.SHA256, b.RetrievedAt)
		for _, v := range as.Vintages {
			if first(v.Series) && !v.VintageAt.After(b.RetrievedAt) {
				k := observation{v.Series, v.ObservedAt.Unix()}
				list[k] = append(list[k], v)
			}
		}
		stated := map[observation]bool{}
		for _, r := range as.Readings {
			k := observation{r.Series, r.ObservedAt.Unix()}
			stated[k] = true
			list[k] = addReading(list[k], r, b.RetrievedAt, src, first(r.Series))
		}
		if slices.Contains(b.Uses, "withdrawal") {
			takeBack(list, stated, as.Covers, b.RetrievedAt)
		}
		brought := false
		for k, values := range list {
			for n := len(from[k]); n < len(values); n++ {
				from[k], brought = append(from[k], b.SHA256), true
			}
		}
		if _, read := o.parsed[b.SHA256]; read && !brought && slices.ContainsFunc(b.RetrievedAgain, b.RetrievedAt.Equal) {
			o.say("list", differ, "inputs."+b.SHA256, "the list says that it came again at %s with something, and it brought nothing then", instant(&b.RetrievedAt))
		}
	}
	out = map[series.ID][]series.Observation{}
	for k, values := range list {
		out[k.id] = append(out[k.id], values...)
	}
	for _, values := range out {
		slices.SortFunc(values, func(a, b series.Observation) int {
			return cmp.Or(a.ObservedAt.Compare(b.ObservedAt), a.VintageAt.Compare(b.VintageAt))
		})
	}
	return out, from
}

// addReading adds a reading to the values of its observation, if it is another one. A value that was there at the first load became known when its
// publisher usually publishes it.
func addReading(values []series.Observation, r ingest.Reading, at time.Time, src ingest.Source, first bool) []series.Observation {
	next := series.Observation{Series: r.Series, ObservedAt: r.ObservedAt.UTC(), VintageAt: at, Value: r.Value, Marker: r.Marker}
	if len(values) == 0 {
		if published := src.Published(r.Series, r.ObservedAt); first && published.Before(at) {
			next.VintageAt, next.Assumed = published.UTC(), true
		}
		return append(values, next)
	}
	newest := values[len(values)-1]
	if newest.Marker == r.Marker && (newest.Value == r.Value || math.Abs(newest.Value-r.Value) < src.Rounding(r.Series) || r.Marker != "") {
		return values
	}
	if !next.VintageAt.After(newest.VintageAt) {
		next.VintageAt = newest.VintageAt.Add(time.Microsecond)
	}
	return append(values, next)
}

// takeBack withdraws what a body covers and does not state.
func takeBack(list map[observation][]series.Observation, stated map[observation]bool, covers []ingest.Coverage, came time.Time) {
	for k, values := range list {
		newest := values[len(values)-1]
		if stated[k] || newest.Marker == series.MarkerWithdrawn || !slices.ContainsFunc(covers, func(c ingest.Coverage) bool {
			return c.Series == k.id && c.Window.Contains(newest.ObservedAt)
		}) {
			continue
		}
		newest.VintageAt, newest.Value, newest.Marker, newest.Assumed = came, 0, series.MarkerWithdrawn, false
		list[k] = append(values, newest)
	}
}

// sameRecord compares the stated basis and record with ours.
func (o *outside) sameRecord(stated view.Uncertainty, basis string, ours *signals.IntervalRecord, how string) {
	want := postgres.NewUncertainty(basis, ours)
	status := agrees
	if stated.Basis != want.Basis {
		status = differ
	}
	o.say("record", status, "uncertainty.basis", "the server says %s, we find %s: %s", stated.Basis, want.Basis, how)
	if stated.Record == nil || want.Record == nil {
		if (stated.Record == nil) != (want.Record == nil) {
			o.say("record", differ, "uncertainty.record", "the server says %s, we count %s", counts(stated.Record), counts(want.Record))
		}
		return
	}
	if stated.Record.Stage != want.Record.Stage {
		o.say("record", differ, "uncertainty.record.stage", "the server counts the stage %q, we count %q", stated.Record.Stage, want.Record.Stage)
	}
	for _, part := range []struct {
		name      string
		said, our postgres.Coverage
	}{
		{"uncertainty.record", stated.Record.All(), want.Record.All()},
		{"uncertainty.record.last_2y", stated.Record.Last2Years, want.Record.Last2Years},
	} {
		status := agrees
		if differsBy(part.our, part.said, lastDigit) != "" {
			status = differ
		}
		o.say("record", status, part.name, "the server says %d of %d, we count %d of %d", part.said.Hits, part.said.Cases, part.our.Hits, part.our.Cases)
	}
}

func counts(r *postgres.IntervalRecord) string {
	if r == nil {
		return "no record"
	}
	return fmt.Sprintf("%d of %d", r.Hits, r.Cases)
}
