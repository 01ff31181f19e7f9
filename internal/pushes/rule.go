package pushes

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// The kinds of a rule.
const (
	OnValue    = "value"
	OnZScore   = "z_score"
	OnStatus   = "status"
	OnNewPrint = "new_print"
	OnRevision = "revision"
	OnForecast = "forecast"
	OnPick     = "pick"
	OnEvent    = "event"
)

// Kinds are all kinds of a rule.
var Kinds = []string{OnValue, OnZScore, OnStatus, OnNewPrint, OnRevision, OnForecast, OnPick, OnEvent}

// Rule selects changes. Members that do not belong to its kind must be absent.
type Rule struct {
	// On is the subject of the rule: value, z_score, status, new_print or revision of a signal, a forecast, a pick, or an event.
	On string `json:"on"`
	// Signal is the signal's id. A rule about forecasts may leave it out: then it is about all signals.
	Signal string `json:"signal,omitempty"`
	// Above or Below is the threshold of a rule about value or z_score. The rule holds when the number passes it.
	Above *float64 `json:"above,omitempty"`
	Below *float64 `json:"below,omitempty"`
	// Rearm is the number that value or z_score must return to before the rule can hold again. Without it, that is the threshold.
	Rearm *float64 `json:"rearm,omitempty"`
	// To is the new status of a rule about status. Without it, any change of the status holds.
	To string `json:"to,omitempty"`
	// Kind restricts a rule about forecasts: issued or graded.
	Kind string `json:"kind,omitempty"`
	// MinSeverity is the smallest severity of a rule about events, from 1 to 5.
	MinSeverity *int `json:"min_severity,omitempty"`
	// Ticker restricts a rule about picks or events to one company.
	Ticker string `json:"ticker,omitempty"`
}

// RuleError describes a fault of a rule. Member is the name of the member.
type RuleError struct{ Member, Detail string }

func (e *RuleError) Error() string { return e.Member + ": " + e.Detail }

// members lists which members a kind takes, besides on.
var members = map[string][]string{
	OnValue: {"signal", "above", "below", "rearm"}, OnZScore: {"signal", "above", "below", "rearm"}, OnStatus: {"signal", "to"}, OnNewPrint: {"signal"},
	OnRevision: {"signal"}, OnForecast: {"signal", "kind"}, OnPick: {"ticker"}, OnEvent: {"min_severity", "ticker"},
}

// Restriction returns the member that selects events of the portfolio by what is sold of them, empty if the rule has none.
func (r Rule) Restriction() string {
	switch {
	case r.On != OnEvent:
		return ""
	case r.MinSeverity != nil:
		return "min_severity"
	case r.Ticker != "":
		return "ticker"
	}
	return ""
}

var tickerForm = regexp.MustCompile(`^[A-Z0-9.-]{1,12}$`)

// Check reports what is wrong with a rule, as a *RuleError. known reports whether a signal exists; statuses are the statuses of a signal.
func (r Rule) Check(known func(id string) bool, statuses []string) error {
	fault := func(member, detail string, args ...any) error {
		return &RuleError{member, fmt.Sprintf(detail, args...)}
	}
	takes, ok := members[r.On]
	if !ok {
		return fault("on", "on can be %s.", strings.Join(Kinds, ", "))
	}
	for member, given := range map[string]bool{
		"signal": r.Signal != "", "above": r.Above != nil, "below": r.Below != nil, "rearm": r.Rearm != nil, "to": r.To != "", "kind": r.Kind != "",
		"min_severity": r.MinSeverity != nil, "ticker": r.Ticker != "",
	} {
		if given && !slices.Contains(takes, member) {
			return fault(member, "A rule about %s has no %s.", r.On, member)
		}
	}
	if r.Signal == "" && slices.Contains(takes, "signal") && r.On != OnForecast {
		return fault("signal", "The id of a signal is missing.")
	}
	if r.Signal != "" && !known(r.Signal) {
		return fault("signal", "There is no signal with this id.")
	}
	switch {
	case r.On == OnValue || r.On == OnZScore:
		return r.checkThreshold()
	case r.To != "" && !slices.Contains(statuses, r.To):
		return fault("to", "to can be %s.", strings.Join(statuses, ", "))
	case r.Kind != "" && r.Kind != "issued" && r.Kind != "graded":
		return fault("kind", "kind can be issued, graded.")
	case r.MinSeverity != nil && (*r.MinSeverity < 1 || *r.MinSeverity > 5):
		return fault("min_severity", "min_severity is not a whole number from 1 to 5.")
	case r.Ticker != "" && !tickerForm.MatchString(r.Ticker):
		return fault("ticker", "This is no stock symbol.")
	}
	return nil
}

// checkThreshold checks the numbers of a rule with hysteresis.
func (r Rule) checkThreshold() error {
	for member, f := range map[string]*float64{"above": r.Above, "below": r.Below, "rearm": r.Rearm} {
		if f != nil && (math.IsNaN(*f) || math.Abs(*f) > 1e15) {
			return &RuleError{member, member + " is not a number that can be compared."}
		}
	}
	switch {
	case (r.Above == nil) == (r.Below == nil):
		return &RuleError{"above", "Give either above or below."}
	case r.Rearm != nil && r.Above != nil && *r.Rearm > *r.Above:
		return &RuleError{"rearm", "rearm lies above the threshold."}
	case r.Rearm != nil && r.Below != nil && *r.Rearm < *r.Below:
		return &RuleError{"rearm", "rearm lies below the threshold."}
	}
	return nil
}

// Topic returns the topic of the changes that the rule is about.
func (r Rule) Topic() string {
	switch r.On {
	case OnForecast:
		return TopicForecast
	case OnPick:
		return TopicPick
	case OnEvent:
		return TopicEvent
	}
	return TopicSignal + r.Signal
}

// Match reports whether the rule holds for a change of its topic. armed is the rule's state before it, and next its state after it. Only a
// rule with a threshold has a state: once it held, it holds again after the number was back at Rearm.
func (r Rule) Match(armed bool, row Row) (holds, next bool, err error) {
	switch r.On {
	case OnPick:
		return r.Ticker == "" || r.Ticker == row.Subject, armed, nil
	case OnForecast:
		return (r.Signal == "" || r.Signal == row.Subject) && (r.Kind == "" || r.Kind == row.Kind), armed, nil
	case OnNewPrint, OnRevision:
		return row.Kind == r.On, armed, nil
	case OnEvent:
		var e struct{ Severity int }
		if err := json.Unmarshal(row.Data, &e); err != nil {
			return false, armed, fmt.Errorf("read the push %d: %w", row.ID, err)
		}
		return (r.MinSeverity == nil || e.Severity >= *r.MinSeverity) && (r.Ticker == "" || r.Ticker == row.Subject), armed, nil
	}
	s, err := row.signal()
	if err != nil {
		return false, armed, err
	}
	if r.On == OnStatus {
		changed := s.PreviousStatus != nil && *s.PreviousStatus != s.Status
		return changed && (r.To == "" || r.To == s.Status), armed, nil
	}
	f := s.Value
	if r.On == OnZScore {
		f = s.ZScore
	}
	if f == nil {
		return false, armed, nil // an unknown number passes nothing
	}
	holds, next = r.cross(armed, *f)
	return holds, next, nil
}

// cross applies the threshold to a number.
func (r Rule) cross(armed bool, f float64) (holds, next bool) {
	var beyond, back bool
	if r.Above != nil {
		beyond, back = f > *r.Above, f <= orElse(r.Rearm, *r.Above)
	} else if r.Below != nil {
		beyond, back = f < *r.Below, f >= orElse(r.Rearm, *r.Below)
	}
	return armed && beyond, armed && !beyond || !armed && back
}

func orElse(f *float64, other float64) float64 {
	if f != nil {
		return *f
	}
	return other
}
