package locale

import "testing"

func TestThePointOfANumberMoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value  string
		places int
		want   string
	}{
		{"1.4", 3, "1400"},
		{"1.4", 1, "14"},
		{"1.45", 1, "14.5"},
		{"-61.2", -1, "-6.12"},
		{"421.1", -1, "42.11"},
		{"0.3", -1, "0.03"},
		{"5", -3, "0.005"},
		{"4450.1", -3, "4.4501"},
		{"0.0", 3, "0"},
		{"-0.5", 2, "-50"},
		{"7", 0, "7"},
	} {
		if got := Shifted(c.value, c.places); got != c.want {
			t.Errorf("%s by %d is %s, want %s", c.value, c.places, got, c.want)
		}
	}
}
