package pages

import "testing"

func TestNumbersOfForecastsHaveTheirDecimalsAndThousandsApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{1234567.4, 0, "1,234,567"}, {-4832.6, 0, "−4,833"}, {-0.04, 1, "0.0"}, {0, 0, "0"}, {999.95, 1, "1,000.0"}, {-1234.25, 2, "−1,234.25"}, {12, 3, "12.000"},
	} {
		if got := fixed(c.v, c.decimals); got != c.want {
			t.Errorf("%v to %d decimals is %s, want %s", c.v, c.decimals, got, c.want)
		}
	}
}
