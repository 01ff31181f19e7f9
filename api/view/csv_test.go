package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRowsAsATable(t *testing.T) {
	t.Parallel()
	type inner struct {
		X int `json:"x"`
	}
	type row struct {
		Name   string     `json:"name"`
		Number *float64   `json:"number"`
		At     *time.Time `json:"at,omitempty"`
		Flag   bool       `json:"flag"`
		List   []string   `json:"list"`
		Inner  inner      `json:"inner"`
		Hidden string
	}
	at := time.Date(2026, 3, 6, 18, 0, 0, 0, time.FixedZone("x", -5*60*60))
	got := string(csvOf([]row{
		{Name: "=SUM(A1)", Number: new(-1.5), At: &at, Flag: true},
		{Name: "a, \"b\"\nc"},
		{Name: "-5"},
		{Name: "@home"},
	}))
	want := "name,number,at,flag\r\n'=SUM(A1),-1.5,2026-03-06T23:00:00Z,true\r\n\"a, \"\"b\"\"\nc\",,,false\r\n-5,,,false\r\n'@home,,,false\r\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := string(csvOf([]row{})); got != "name,number,at,flag\r\n" {
		t.Errorf("an empty table: %q", got)
	}
}
