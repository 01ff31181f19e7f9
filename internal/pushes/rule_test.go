package pushes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"tidemark/internal/pushes"
)

func known(id string) bool { return id == "crack" }

var statuses = []string{"live", "decayed"}

func signalRow(id int64, kind string, data map[string]any) pushes.Row {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return pushes.Row{ID: id, Topic: "signal:crack", Kind: kind, Subject: "crack", Data: b}
}

func TestARuleWithAThresholdHoldsOnceUntilTheNumberWasBack(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		rule  pushes.Rule
		z     []float64
		holds string
	}{
		{"above, with its own way back", pushes.Rule{On: pushes.OnZScore, Signal: "crack", Above: new(2.0), Rearm: new(1.0)}, []float64{1.9, 2.1, 1.5, 2.2, 1.0, 2.0, 2.3}, "0100001"},
		{"above, back at the threshold", pushes.Rule{On: pushes.OnZScore, Signal: "crack", Above: new(2.0)}, []float64{3, 4, 2, 3}, "1001"},
		{"below", pushes.Rule{On: pushes.OnZScore, Signal: "crack", Below: new(-2.0), Rearm: new(-1.0)}, []float64{-3, -1.5, -2.5, -1, -2.1, -2}, "100010"},
	} {
		armed, got := true, ""
		for i, z := range test.z {
			holds, next, err := test.rule.Match(armed, signalRow(int64(i), "update", map[string]any{"value": 1.0, "z_score": z}))
			if err != nil {
				t.Fatal(err)
			}
			armed = next
			got += map[bool]string{true: "1", false: "0"}[holds]
		}
		if got != test.holds {
			t.Errorf("%s: it holds %s, want %s", test.name, got, test.holds)
		}
	}
}

func TestAnUnknownNumberNeitherHoldsNorArms(t *testing.T) {
	t.Parallel()
	r := pushes.Rule{On: pushes.OnValue, Signal: "crack", Above: new(2.0)}
	for _, armed := range []bool{true, false} {
		if holds, next, err := r.Match(armed, signalRow(1, "update", map[string]any{"value": nil})); holds || next != armed || err != nil {
			t.Errorf("armed %t: holds %t, next %t, %v", armed, holds, next, err)
		}
	}
}

func TestEachKindSelectsItsChanges(t *testing.T) {
	t.Parallel()
	event := func(severity int) pushes.Row {
		return pushes.Row{ID: 1, Topic: "event", Kind: "happened", Subject: "ACME", Data: fmt.Appendf(nil, `{"severity":%d}`, severity)}
	}
	status := func(before any, now string) pushes.Row {
		return signalRow(1, "status", map[string]any{"status": now, "previous_status": before})
	}
	forecast := pushes.Row{Topic: "forecast", Kind: "issued", Subject: "crack", Data: []byte(`{}`)}
	pick := pushes.Row{Topic: "pick", Kind: "announced", Subject: "ACME", Data: []byte(`{}`)}
	for _, test := range []struct {
		name string
		rule pushes.Rule
		row  pushes.Row
		want bool
	}{
		{"a new print", pushes.Rule{On: "new_print", Signal: "crack"}, signalRow(1, "new_print", nil), true},
		{"a revision is no new print", pushes.Rule{On: "new_print", Signal: "crack"}, signalRow(1, "revision", nil), false},
		{"a revision", pushes.Rule{On: "revision", Signal: "crack"}, signalRow(1, "revision", nil), true},
		{"another status", pushes.Rule{On: "status", Signal: "crack"}, status("live", "decayed"), true},
		{"the same status", pushes.Rule{On: "status", Signal: "crack"}, status("live", "live"), false},
		{"the first status", pushes.Rule{On: "status", Signal: "crack"}, status(nil, "live"), false},
		{"the status that is waited for", pushes.Rule{On: "status", Signal: "crack", To: "live"}, status("live", "decayed"), false},
		{"an event severe enough", pushes.Rule{On: "event", MinSeverity: new(3)}, event(3), true},
		{"an event not severe enough", pushes.Rule{On: "event", MinSeverity: new(3)}, event(2), false},
		{"an event of another company", pushes.Rule{On: "event", Ticker: "BORL"}, event(5), false},
		{"a forecast", pushes.Rule{On: "forecast", Kind: "issued"}, forecast, true},
		{"a forecast, not its grade", pushes.Rule{On: "forecast", Kind: "graded"}, forecast, false},
		{"a forecast of another signal", pushes.Rule{On: "forecast", Signal: "hormuz"}, forecast, false},
		{"a pick", pushes.Rule{On: "pick"}, pick, true},
		{"a pick of another company", pushes.Rule{On: "pick", Ticker: "BORL"}, pick, false},
	} {
		if got, _, err := test.rule.Match(true, test.row); got != test.want || err != nil {
			t.Errorf("%s: %t, %v", test.name, got, err)
		}
	}
}

func TestARuleWithWhatDoesNotBelongToItIsRefused(t *testing.T) {
	t.Parallel()
	for member, r := range map[string]pushes.Rule{
		"on":           {On: "weather"},
		"signal":       {On: "new_print"},
		"above":        {On: "value", Signal: "crack"},
		"rearm":        {On: "value", Signal: "crack", Above: new(1.0), Rearm: new(2.0)},
		"to":           {On: "status", Signal: "crack", To: "asleep"},
		"kind":         {On: "forecast", Kind: "made"},
		"min_severity": {On: "event", MinSeverity: new(6)},
		"ticker":       {On: "pick", Ticker: "a b"},
		"below":        {On: "pick", Below: new(1.0)},
	} {
		fault := &pushes.RuleError{}
		if err := r.Check(known, statuses); !errors.As(err, &fault) || fault.Member != member {
			t.Errorf("%+v: %v, want a fault of %s", r, err, member)
		}
	}
	for _, r := range []pushes.Rule{
		{On: "value", Signal: "crack", Below: new(1.0), Rearm: new(1.0)},
		{On: "forecast"},
		{On: "event"},
		{On: "pick", Ticker: "BRK-B"},
		{On: "status", Signal: "crack", To: "live"},
	} {
		if err := r.Check(known, statuses); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// A stranger writes the rule. Whatever passes the check can be compared with every change, and both directions of a threshold cannot hold at
// once.
func FuzzRule(f *testing.F) {
	f.Add([]byte(`{"on":"z_score","signal":"crack","above":2,"rearm":1}`), 2.5, true)
	f.Add([]byte(`{"on":"event","min_severity":3,"ticker":"ACME"}`), 0.0, false)
	f.Add([]byte(`{"on":"value","signal":"crack","below":-1e300}`), -1e301, true)
	f.Fuzz(func(t *testing.T, text []byte, value float64, armed bool) {
		var r pushes.Rule
		if json.Unmarshal(text, &r) != nil || r.Check(known, statuses) != nil {
			return
		}
		data, err := json.Marshal(map[string]any{"value": value, "z_score": value, "severity": 3, "status": "live", "previous_status": "decayed"})
		if err != nil {
			return // not a finite number
		}
		row := pushes.Row{ID: 1, Topic: r.Topic(), Kind: "update", Subject: "crack", Data: data}
		holds, next, err := r.Match(armed, row)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, _, _ := r.Match(next, row); holds && again && (r.On == pushes.OnValue || r.On == pushes.OnZScore) {
			t.Errorf("%s holds twice for one number %g", text, value)
		}
	})
}
