package pages

import (
	"testing"

	"tidemark/signals/forecast"
)

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

func TestAForecastHasTheUnitOfItsSignalsPage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		v    float64
		want string
	}{
		"crack-spread-321": {13.887, "$13.89 a barrel"}, "lng-arbitrage": {-0.849, "−$0.85 per MMBtu"}, "hormuz-transit": {103.284, "103 ships a day"},
		"eia-weekly-petroleum": {-4833, "−4.8 million barrels"}, "iowa-corn-yield": {221.3, "221.3 bushels an acre"},
	}
	for id, want := range tests {
		figures := forecast.Of(id)
		if len(figures) == 0 {
			t.Errorf("%s has no forecast", id)
		}
		for _, target := range figures {
			if unit := unitOf(target); unit.write(want.v)+" "+unit.Words != want.want {
				t.Errorf("%s, %s: %s %s, want %s", id, target.Figure, unit.write(want.v), unit.Words, want.want)
			}
		}
	}
}
