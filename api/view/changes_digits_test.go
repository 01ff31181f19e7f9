package view

import (
	"testing"

	"tidemark/internal/postgres"
	"tidemark/signals/changes"
)

// A change of numbers with one decimal has one decimal, and small numbers keep their digits.
func TestChangesHaveNoArithmeticNoise(t *testing.T) {
	t.Parallel()
	from, to := 402709.2, 402668.4
	z, later := 0.123456789012, 0.223456789013
	first, second := postgres.Snapshot{Value: &from, Z: &z}, postgres.Snapshot{Value: &to, Z: &later}
	got := changeNumbers(changes.Numbers{Value: to - from, Baseline: 0, Z: later - z}, first, second)
	if *got.Value != -40.8 || *got.Z != 0.100000000001 {
		t.Errorf("the value changes by %v and the z-score by %v, want -40.8 and 0.100000000001", *got.Value, *got.Z)
	}
}
