package main

import (
	"slices"
	"strings"
	"testing"

	"tidemark/chain"
)

// An answer with other rows than its peer is not a fast answer.
func TestAnAnswerIsComparedWithItsPeer(t *testing.T) {
	t.Parallel()
	const head = "observed_at,ingested_at,value,uncertainty_lo,uncertainty_hi,baseline_value,delta_vs_baseline_pct,z_score,vintage\n"
	const first = "2026-01-02T00:00:00Z,2026-01-05T10:00:00Z,1.234567890123456,1,2,,,,1\n"
	const second = "2026-01-03T00:00:00Z,2026-01-06T10:00:00.123456Z,-3,,,4,5,6,2\n"
	theirs, err := csvTable([]byte(strings.NewReplacer("T", " ", "Z", "+00").Replace(head + first + second)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, body string
		json, same bool
	}{
		{"twelve digits", head + "2026-01-02T00:00:00Z,2026-01-05T10:00:00Z,1.23456789012,1,2,,,,1\n" + second, false, true},
		{"JSON", `{"data":[{"observed_at":"2026-01-02T00:00:00Z","ingested_at":"2026-01-05T10:00:00Z","value":1.23456789012,"uncertainty_lo":1,"uncertainty_hi":2,` +
			`"baseline_value":null,"vintage":1},{"observed_at":"2026-01-03T00:00:00Z","ingested_at":"2026-01-06T10:00:00.123456Z","value":-3,"baseline_value":4,` +
			`"delta_vs_baseline_pct":5,"z_score":6,"vintage":2}]}`, true, true},
		{"a row is missing", head + first, false, false},
		{"no row", head, false, false},
		{"another order", head + second + first, false, false},
		{"eleven digits", head + "2026-01-02T00:00:00Z,2026-01-05T10:00:00Z,1.2345678900,1,2,,,,1\n" + second, false, false},
		{"a known number for an unknown one", head + "2026-01-02T00:00:00Z,2026-01-05T10:00:00Z,1.23456789012,1,2,0,,,1\n" + second, false, false},
		{"another time", head + "2026-01-02T00:00:00Z,2026-01-05T10:00:01Z,1.23456789012,1,2,,,,1\n" + second, false, false},
		{"another vintage", head + "2026-01-02T00:00:00Z,2026-01-05T10:00:00Z,1.23456789012,1,2,,,,2\n" + second, false, false},
	} {
		read := csvTable
		if c.json {
			read = jsonTable
		}
		ours, err := read([]byte(c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if err := same(ours, theirs); (err == nil) != c.same {
			t.Errorf("%s: %v, want the same: %v", c.what, err, c.same)
		}
	}
}

// The chain of the bench is verified as it is, and not with a lie in it.
func TestTheVerifierThatIsMeasuredRefusesLies(t *testing.T) {
	t.Parallel()
	links, err := linksOf(10)
	if err != nil {
		t.Fatal(err)
	}
	if err := refuses(links); err != nil {
		t.Error(err)
	}
	links[4] = chain.Link{Seq: 5}
	if refuses(links) == nil {
		t.Error("a chain that is none is verified")
	}
}

func TestNamesOfMeasurements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, want []string
		help       bool
		err        string
	}{
		{args: nil},
		{args: []string{"p1", "P7-once"}, want: []string{"P1", "P7-once"}},
		{args: []string{"-h"}, help: true},
		{args: []string{"P1", "P15", "x"}, err: "unknown measurement \"P15\"\nunknown measurement \"x\""},
	} {
		got, help, err := chosen(c.args)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if said != c.err || help != c.help || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, help %v, error %q", c.args, got, help, said)
		}
	}
}
