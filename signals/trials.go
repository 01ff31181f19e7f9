package signals

import (
	"crypto/sha256"
	"encoding/hex"
)

// EarlierTrial is a rule that ran on history while a method was being designed, before there was a registry of methods.
type EarlierTrial struct {
	// Method is the method that it could have become a part of: signals or forecasts, as the registry names them.
	Method string
	// ID is its version in the registry, Rule what it was. docs/trials.md calls it so.
	ID, Rule string
	// Figure is the figure of the trial.
	Figure string
	// Taken reports whether it became a part of the method.
	Taken bool
}

// EarlierTrials are the rules of docs/trials.md, in its order. The registry has each of them before a result of this version is published. A
// test makes that page, and fails if a rule of the page is missing here.
func EarlierTrials() []EarlierTrial {
	return []EarlierTrial{
		{"forecasts", "stocks.gasoline", "the model of crude oil without its third regression", "weekly change of gasoline stocks", true},
		{"forecasts", "stocks.distillate", "the model of crude oil without its third regression", "weekly change of distillate stocks", true},
		{"signals", "corn.nass-alone", "NASS alone", "corn yield", false},
		{"signals", "corn.mean-square", "shipped: each by its mean square", "corn yield", true},
		{"signals", "corn.covariance", "with covariance", "corn yield", false},
		{"signals", "corn.covariance-bounded", "with covariance, 0 to 1", "corn yield", false},
		{"signals", "corn.covariance-bias-bounded", "with covariance and bias, 0 to 1", "corn yield", false},
		{"signals", "corn.nass-bias", "NASS with its bias", "corn yield", false},
		{"signals", "corn.nass-half-bias", "NASS with half its bias", "corn yield", false},
		{"forecasts", "crack.from-monday", "from Monday", "crack spread of the next Monday", true},
		{"forecasts", "crack.from-wednesday", "from Wednesday", "crack spread of the next Monday", false},
		{"forecasts", "stocks.other-fuels", "stocks of the other fuels and the refineries' use", "weekly change of crude oil stocks", false},
		{"forecasts", "lng.known-days", "the month's known days", "LNG margin", false},
		{"forecasts", "lng.direction", "a direction", "LNG margin", false},
	}
}

// Note is its line in the registry.
func (t EarlierTrial) Note() string {
	outcome := "not taken"
	if t.Taken {
		outcome = "taken"
	}
	return t.Figure + ": " + t.Rule + "; " + outcome + ". tried before the registry began (docs/trials.md). The SHA-256 is of its description"
}

// SHA256 is of the method and the rule in words.
func (t EarlierTrial) SHA256() string {
	sum := sha256.Sum256([]byte(t.Method + " " + t.ID + "\n" + t.Figure + ": " + t.Rule))
	return hex.EncodeToString(sum[:])
}

// Tests returns how many tests so many versions of the signals made on history. Each version tests every signal. Each earlier trial of a
// signal that was not taken was one test more. A trial that was taken is in a version.
func Tests(versions int) int {
	n := max(versions, 1) * len(All())
	for _, t := range EarlierTrials() {
		if t.Method == "signals" && !t.Taken {
			n++
		}
	}
	return n
}
