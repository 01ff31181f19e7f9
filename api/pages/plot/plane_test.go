package plot

import (
	"math"
	"strings"
	"testing"
)

func TestAPlaneDrawsEachPointAndEachInterval(t *testing.T) {
	t.Parallel()
	many := make([]float64, 5000)
	for i := range many {
		many[i] = math.Sin(float64(i))
	}
	scatter := Plane{ID: "p", Title: "A & B", Height: 300, Points: true, X: many, Y: many}.SVG()
	if n := strings.Count(scatter, "h0"); n != len(many) || len(scatter) > 16*len(many) {
		t.Errorf("%d points are drawn in %d bytes", n, len(scatter))
	}
	if !strings.Contains(scatter, "A &amp; B") || strings.Contains(scatter, "NaN") {
		t.Error("the title is not escaped, or a place is unknown")
	}
	lags := Plane{ID: "l", Height: 200, X: []float64{-1, 0, 1}, Y: []float64{.1, .2, .3}, Lo: []float64{0, .1, .2}, Hi: []float64{.2, .3, .4}, Chosen: 3}.SVG()
	if strings.Count(lags, "reach-line") != 3 || strings.Count(lags, `class="end chosen-point"`) != 1 {
		t.Errorf("the intervals are %s", lags)
	}
	if (Plane{}).SVG() != "" {
		t.Error("a plane without points is drawn")
	}
}

func TestTheAxesOfAScatterHaveTheSameDecimals(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Plane{
		"wide": {X: []float64{-4, 4}, Y: []float64{-.8, .9}}, "high": {X: []float64{-.8, .9}, Y: []float64{-8, 8}},
	} {
		p.Height, p.Points, p.Words = 320, true, Words{Decimal: ","}
		if svg := p.SVG(); strings.Contains(svg, ">0<") || strings.Count(svg, ">0,0<") != 2 {
			t.Errorf("%s: an axis has other decimals: %s", name, svg)
		}
		p.Points = false // two units
		if svg := p.SVG(); !strings.Contains(svg, ">0<") || !strings.Contains(svg, ">0,0<") {
			t.Errorf("%s: an axis has needless decimals: %s", name, svg)
		}
	}
}
