package view

import "testing"

// A position is accepted only in the form that this list writes.
func FuzzPlace(f *testing.F) {
	f.Add(encodePlace("picks", "2026-03-04"), "picks")
	f.Add("cGlja3MKeA", "picks")
	f.Fuzz(func(t *testing.T, cursor, order string) {
		if key, err := decodePlace(cursor, order); err == nil && encodePlace(order, key) != cursor {
			t.Errorf("%q is read as %q", cursor, key)
		}
	})
}
