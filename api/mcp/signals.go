package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/signals"
)

// maxPoints is the maximum number of points in one answer. Each appears twice, with some 400 bytes.
const maxPoints = 100

var (
	signalID = argument{
		name: "id", description: "Id of a signal, as list_signals gives it.", example: `"crack-spread-321"`, required: true,
		pattern: regexp.MustCompile(`^[a-z0-9-]{1,64}$`),
	}
	asOf = argument{
		name: "as_of", example: `"2026-10-01"`, maxLength: 40,
		description: "Answer as it was known at this past instant (RFC 3339 with zone), or at the end of this day in UTC (YYYY-MM-DD). Without it, as known now.",
	}
)

// signalTools are the tools about signals.
var signalTools = []tool{
	{
		name: "list_signals", title: "Market signals",
		description: "The live market signals, each with its newest value, unit, z-score against its own past, license and source, and with the leaf in the " +
			"transparency log of the newest body behind it (proof). Use get_signal with an id for the interval, baseline, backtest and provenance.",
		output: outputOf[view.AgentCatalog], run: listSignals,
	},
	{
		name: "get_signal", title: "One market signal",
		description: "A snapshot of one signal: value, interval with what it bounds and whether that was measured, baseline, z-score, backtest, where the evidence " +
			"for its numbers is (evidence: the formula with each observation and its archived body, as a page and as JSON), and the archived bytes behind it, " +
			"the newest by SHA-256, each with its address (raw_url; 451 where a license forbids it), its leaf in the transparency log (log_index) and a file that " +
			"proves it offline (proof_url). With as_of, the snapshot as it was known then.",
		arguments: []argument{signalID, asOf}, output: outputOf[view.AgentSignal], run: oneSignal,
	},
	{
		name: "get_signal_history", title: "History of a market signal", app: plotURI,
		description: "Points of one signal, the newest first, each with its interval, baseline, z-score and when it was published. uncertainty_bounds and " +
			"uncertainty_basis say of all intervals what they bound and whether that was measured. With as_of, only what was " +
			"known then, so that a test of a strategy sees no number before it was there. proofs and evidence are those of the snapshot for that instant, as " +
			"get_signal has them. next_cursor leads on to older points.",
		arguments: []argument{
			signalID, asOf,
			{name: "from", description: "First day wanted, YYYY-MM-DD.", example: `"2026-01-01"`, pattern: regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)},
			{name: "to", description: "Last day wanted, YYYY-MM-DD.", example: `"2026-03-31"`, pattern: regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)},
			{
				name: "limit", description: "How many points at most, 1 to " + strconv.Itoa(maxPoints) + ".", example: "30", fallback: "30", whole: true, min: 1,
				max: maxPoints,
			},
			{name: "cursor", description: "next_cursor of the answer before, to go on with older points.", example: `"aGlzdG9yeQ"`, maxLength: 400},
		},
		output: outputOf[view.AgentHistory], run: signalHistory,
	},
	{
		name: "get_calendar", title: "Next releases",
		description: "The publications of public figures that are expected next, the earliest first: the figure, its period, when it is expected (exact: the earliest " +
			"time of a schedule, else an estimated day), and the central 80% of the forecast that is recorded before the print.",
		output: outputOf[view.Calendar], run: nextReleases,
	},
	{
		name: "explain_change", title: "Why a market signal moved",
		description: "Why one signal differs between two snapshots: parts that add up to the difference of value, baseline and z-score (new observations, " +
			"revisions, windows, the code), in numbers and in words. Without from and to: the newest snapshot against the one before it.",
		arguments: []argument{
			signalID,
			{name: "from", description: "The first snapshot: the newest about this day or earlier (YYYY-MM-DD), or the one as of this instant (RFC 3339 with zone).", example: `"2026-01-01"`, maxLength: 40},
			{name: "to", description: "The second snapshot, named in the same way.", example: `"2026-03-31"`, maxLength: 40},
			language,
		},
		output: outputOf[view.Changes], run: explainChange,
	},
	{
		name: "get_forecast", title: "Forecast of a public figure",
		description: "Forecasts of the figures of one signal, each recorded before its release and never changed: 23 quantiles, the two naive forecasts that it is " +
			"to beat, its label (no_skill is a result), its hash and, after the release, its grade on the first print. Without period, the newest of each figure. " +
			"scorecard_url says what the forecasts so far were worth.",
		arguments: []argument{
			signalID,
			{name: "period", description: "Period of the figure, as target.period gives it.", example: `"2026-11-20"`, pattern: regexp.MustCompile(`^[0-9a-z-]{4,20}$`)},
		},
		output: outputOf[view.AgentForecasts], run: forecastOf,
	},
}

// loaded returns the current signals, or a userError while nothing is loaded yet.
func (d *Server) loaded() (*view.State, error) {
	st := d.o.View.State()
	if st == nil {
		return nil, userErrorf("The signals are being loaded: call again in a few seconds.")
	}
	return st, nil
}

func listSignals(d *Server, ctx context.Context, _ values) (string, any, error) {
	st, err := d.loaded()
	if err != nil {
		return "", nil, err
	}
	var l lines
	for _, s := range st.Signals {
		if s.Snapshot.Status == signals.StatusLive {
			l.signal(s.Snapshot)
		}
	}
	l.add("\n%s", st.Disclaimer)
	answer, err := d.o.View.AgentCatalog(ctx, st)
	if err != nil {
		return "", nil, retried(err)
	}
	return l.String(), answer, nil
}

// named returns the signal that the arguments name, and the instant of the request: zero means now.
func (d *Server) named(v values) (*view.Signal, time.Time, error) {
	st, err := d.loaded()
	if err != nil {
		return nil, time.Time{}, err
	}
	s := st.Signal(v.texts["id"])
	if s == nil {
		ids := make([]string, len(st.Signals))
		for i, s := range st.Signals {
			ids[i] = s.Definition.ID
		}
		return nil, time.Time{}, userErrorf("Unknown signal %s. The signals are: %s.", quoted(v.texts["id"]), strings.Join(ids, ", "))
	}
	at, day, err := instant(v, "as_of")
	if err != nil || at.IsZero() {
		return s, time.Time{}, err
	}
	if day {
		at = at.AddDate(0, 0, 1).Add(-time.Microsecond)
	}
	if now := d.o.View.Now(); at.After(now) {
		return nil, time.Time{}, userErrorf("as_of is in the future: here it is %s. A day counts to its end in UTC. Leave as_of out for the newest.", now.UTC().Format(time.RFC3339))
	}
	return s, at, nil
}

// instant returns an argument that is an instant or a day, as UTC. It returns the zero time if the argument is missing. day reports that it is
// a day: the result is its begin.
func instant(v values, name string) (at time.Time, day bool, err error) {
	text := v.texts[name]
	if text == "" {
		return time.Time{}, false, nil
	}
	if at, err = time.Parse(time.DateOnly, text); err == nil {
		return at, true, nil
	}
	if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
		return time.Time{}, false, userErrorf("%s cannot be %s: take a day such as 2026-10-01, or an instant with its zone such as 2026-10-01T12:00:00Z.", name, quoted(text))
	}
	return at.UTC().Truncate(time.Microsecond), false, nil
}

func oneSignal(d *Server, ctx context.Context, v values) (string, any, error) {
	s, at, err := d.named(v)
	if err != nil {
		return "", nil, err
	}
	answer, err := d.o.View.AgentSignal(ctx, s, at)
	if err != nil {
		return "", nil, retried(err)
	}
	if answer == nil {
		return "", nil, userErrorf("There was no snapshot of %s at that time. Take a later as_of, or leave it out for the newest.", s.Definition.ID)
	}
	var l lines
	l.signal(answer.SignalSnapshot)
	logged := 0
	for _, p := range answer.Proofs {
		if p.LogIndex != nil {
			logged++
		}
	}
	if e := answer.Evidence; e != nil {
		l.add("Evidence for each number, down to the bytes: %s (as JSON: %s).", e.PageURL, e.URL)
	}
	l.add("%d archived bodies are behind it. Of the newest %d, %d are in the transparency log; proofs leads to each.\n\n%s", answer.Provenance.Count,
		len(answer.Proofs), logged, answer.Disclaimer)
	return l.String(), answer, nil
}

// retried turns an unavailable database into a userError.
func retried(err error) error {
	if view.IsUnavailable(err) {
		return userErrorf("The database is unavailable at the moment: call again in a few seconds, or without as_of.")
	}
	return err
}

func signalHistory(d *Server, ctx context.Context, v values) (string, any, error) {
	s, at, err := d.named(v)
	if err != nil {
		return "", nil, err
	}
	r := view.ListingRequest{Format: view.FormatJSON, AsOf: at, Desc: true, Limit: int(v.numbers["limit"])}
	for name, into := range map[string]*time.Time{"from": &r.From, "to": &r.To} {
		if text := v.texts[name]; text != "" {
			if *into, err = time.Parse(time.DateOnly, text); err != nil {
				return "", nil, userErrorf("%s cannot be %s: there is no such day.", name, quoted(text))
			}
		}
	}
	if !r.To.IsZero() {
		r.To = r.To.AddDate(0, 0, 1).Add(-time.Microsecond)
		if r.To.Before(r.From) {
			return "", nil, userErrorf("to is before from.")
		}
	}
	if cursor := v.texts["cursor"]; cursor != "" {
		if err := r.ReadCursor(cursor); err != nil {
			return "", nil, userErrorf("cursor does not belong to this list: take next_cursor from the previous answer, or leave it out to start with the newest point.")
		}
	}
	list, err := d.o.View.History(ctx, s, r)
	if err != nil {
		return "", nil, retried(err)
	}
	var body bytes.Buffer
	if err := list.Write(ctx, &body, 0); err != nil {
		return "", nil, retried(fmt.Errorf("write the history of %s: %w", s.Definition.ID, err))
	}
	var got view.SignalHistory
	if err := json.Unmarshal(body.Bytes(), &got); err != nil {
		return "", nil, fmt.Errorf("read the history of %s: %w", s.Definition.ID, err)
	}
	var l lines
	l.add("%s, %d points, the newest first, in %s.", s.Snapshot.Name, len(got.Data), s.Snapshot.Unit)
	for _, p := range got.Data {
		l.add("%s: %s (z %s)", p.ObservedAt.Format(time.DateOnly), plain(p.Value), plain(p.ZScore))
	}
	if list.Next != "" {
		l.add("There is more: next_cursor leads on.")
	}
	l.add("\n%s", s.Snapshot.Disclaimer)
	answer, err := d.o.View.AgentHistory(ctx, s, at, got)
	if err != nil {
		return "", nil, retried(err)
	}
	return l.String(), answer, nil
}

func nextReleases(d *Server, ctx context.Context, _ values) (string, any, error) {
	st, err := d.loaded()
	if err != nil {
		return "", nil, err
	}
	list, err := d.o.View.Calendar(ctx, st)
	if err != nil {
		return "", nil, retried(err)
	}
	var l lines
	l.add("%d releases are expected.", len(list.Data))
	for _, r := range list.Data {
		switch {
		case r.Forecast != nil:
			l.add("%s: %s (%s), forecast %s to %s %s with 80%% probability.", r.ExpectedAt.UTC().Format(time.RFC3339), r.Name, *r.Period, plain(r.Low), plain(r.High), r.Unit)
		default:
			l.add("About %s: %s.", r.ExpectedAt.Format(time.DateOnly), r.Name)
		}
	}
	l.add("\n%s", list.Disclaimer)
	return l.String(), list, nil
}

// signal adds a snapshot as a sentence.
func (l *lines) signal(s view.SignalSnapshot) {
	day := "no observation"
	if s.ObservedAt != nil {
		day = s.ObservedAt.Format(time.DateOnly)
	}
	l.add("%s (%s), %s: %s %s, %s, z %s, %s.", s.Name, s.ID, day, plain(s.Value), s.Unit, interval(s), plain(s.ZScore), s.Status)
	if s.UncertaintyLo != nil {
		l.add("  The interval: %s", s.Uncertainty.Text)
	}
}

// interval names the bounds, and says if no probability is claimed.
func interval(s view.SignalSnapshot) string {
	if s.UncertaintyLo == nil || s.UncertaintyHi == nil {
		return "no interval"
	}
	bounds := plain(s.UncertaintyLo) + " to " + plain(s.UncertaintyHi)
	if s.Uncertainty.Measured() {
		return s.Uncertainty.Name() + " " + bounds
	}
	return "assumed interval " + bounds + " (no probability)"
}

func plain(f *float64) string {
	if f == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*f, 'g', 6, 64)
}
