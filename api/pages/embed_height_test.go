package pages

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"tidemark/api/view"
	"tidemark/signals"
)

// The frame of a narrow column and of a wide page is as high as its texts need.
func TestTheFrameOfAPlotIsHighEnoughFrom240PixelsOn(t *testing.T) {
	t.Parallel()
	lengths := regexp.MustCompile(`([0-9]+)px(?: - ([0-9.]+)cqw)?`)
	for _, own := range signals.All() {
		l := localizer{Lang: "es"}
		b := signalBody{localizer: l, Signal: &view.Signal{Definition: own}, Def: l.Own(own), Span: span{Name: "all"}}
		b.Plots = l.plotHistory(b.Def, view.SignalSnapshot{}, tradingDays(60, nil), nil, overlay{}, "all")
		style := embedStyle(b.embedHeight)
		for width := 240; width <= 1280; width += 10 {
			high := 0.
			for _, m := range lengths.FindAllStringSubmatch(style, -1) {
				start, err := strconv.ParseFloat(m[1], 64)
				slope, _ := strconv.ParseFloat(m[2], 64)
				if err != nil {
					t.Fatal(err)
				}
				high = max(high, start-slope*float64(width)/100)
			}
			if needed := b.embedHeight(width); high < math.Floor(needed) {
				t.Errorf("%s at %d pixels: the frame has %.0f pixels, and its texts need %.0f", own.ID, width, high, needed)
			}
		}
	}
}
