package pages

import (
	"regexp"
	"strings"
	"testing"

	"tidemark/api/view"
	"tidemark/picks"
)

func TestTheLinesOfAComparisonHaveTheirLastScores(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang][]string{"en": {"+0.53", "−1.20"}, "pt": {"+0,53", "−1,20"}} {
		data := []view.ComparedPair{{Period: "2026-11-09", First: 2, Second: 1}, {Period: "2026-11-16", First: .53, Second: -1.2}}
		body := compareBody{localizer: localizer{Lang: lang}, Comparison: &view.Comparison{Period: "week", Data: data}}
		body.draw()
		for _, number := range want {
			if !regexp.MustCompile(`<text class="label[^>]*>` + regexp.QuoteMeta(number) + `</text>`).MatchString(string(body.Time)) {
				t.Errorf("%s: no line ends with %s: %s", lang, number, body.Time)
			}
		}
		if body.LastFirst != want[0] || body.LastSecond != want[1] {
			t.Errorf("%s: a narrow plot has %s and %s in its legend, want %v", lang, body.LastFirst, body.LastSecond, want)
		}
	}
}

func TestTheBoundsOfALagShowOnWhichSideOfZeroTheyAre(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang]string{"en": "−0.004 to +0.39", "es": "de −0,004 a +0,39"} {
		at := view.ComparisonAtLag{Interval: &view.CorrelationInterval{Level: 0.9, Lo: -0.004, Hi: 0.39}}
		body := compareBody{localizer: localizer{Lang: lang}, Comparison: &view.Comparison{ByLag: []view.ComparisonAtLag{{Correlation: new(0.2), Interval: at.Interval}}}}
		if got := body.Range(at); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
		if body.draw(); !strings.Contains(string(body.LagPoints), `"range":"`+want+`"`) {
			t.Errorf("%s: the points of the script are %s, want %q", lang, body.LagPoints, want)
		}
	}
}
