package pages

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// The frame of an embedded plot has no script on the page around it, so its height is chosen with the line that is pasted. It depends on the
// width, because texts wrap. The widths are widths of frames, in pixels.
const (
	embedNarrowest, embedNarrow, embedPhone, embedWide, embedWidest = 240, 280, 390, 900, 1280

	embedStep = 10

	// legendOnly is the width of a plot up to which its last values are in its legend.
	legendOnly = 224

	// embedSpare is the room of a line that wraps although the widths below say that it fits. In a frame that is narrower than a telephone more
	// lines do.
	embedSpare = 24
)

// embedStyle is the height of the frame as a style: the largest of a constant and of three lines over the width of its container.
func embedStyle(height func(width int) float64) string {
	floor := height(embedWide)
	for w := embedWide; w <= embedWidest; w += embedStep {
		floor = max(floor, height(w))
	}
	heights := []string{fmt.Sprintf("%.0fpx", math.Ceil(floor))}
	widths := []int{embedNarrowest, embedNarrow, embedPhone, embedWide}
	for i, to := range widths[1:] {
		start, slope := line(height, widths[i], to)
		heights = append(heights, fmt.Sprintf("%.0fpx - %.1fcqw", start, 100*slope))
	}
	return "border:0;height:max(" + strings.Join(heights, ",") + ")"
}

// line is the line through the heights at two widths, moved up until no height between them is above it. It falls by slope a pixel.
func line(height func(width int) float64, from, to int) (start, slope float64) {
	slope = math.Floor(1000*(height(from)-height(to))/float64(to-from)) / 1000
	for w := from; w <= to; w += embedStep {
		start = max(start, height(w)+slope*float64(w))
	}
	return math.Ceil(start), slope
}

// embedHeight is about how high an embedded plot is at a width, with the widest letters of usual fonts. The sizes are the sizes of the style
// sheet.
func (b signalBody) embedHeight(width int) float64 {
	room := float64(width - 24)
	lineHeight, headline := 1.6, 1.25
	if b.Lang == "hi" {
		lineHeight, headline = 1.75, 1.4
	}
	heads := wrappedLines(1.06*16.8, room, strings.Fields(cmp.Or(b.findingShown().String(), b.Def.Name)))
	total := embedSpare + max(0, float64(embedPhone-width)/2.5) + 16 + 4 + 16.8*headline*heads + 5.6 + 300 + 5.6
	if b.AsOf != "" {
		total += 16 * lineHeight * wrappedLines(1.06*16, room, strings.Fields(b.Said("signal.as of", b.Date(b.AsOf))))
	}
	// A key is a sample and its text, and keeps together.
	rows, left := 0., 0.
	for i, k := range b.keys() {
		if i == 0 {
			k.Text += ", " + b.RangeTitle(b.Def, b.Span)
		}
		if room <= legendOnly {
			switch k.Class {
			case "":
				k.Text += " " + b.Plots.LastValue
			case "second":
				k.Text += " " + b.Plots.LastBaseline
			}
		}
		whole := 24 + textWidth(k.Text, 12.8)
		if left -= whole + 14.4; left < 0 {
			left = room - whole
			rows += wrappedLines(12.8, room-24, strings.Fields(k.Text))
		}
	}
	total += 12.8*lineHeight*rows + 1.6*(rows-1)
	observed := b.T("unknown")
	if at := b.Snapshot.ObservedAt; at != nil {
		observed = b.Observed(b.Def, *at)
	}
	source := b.T("signal.observed") + ": " + observed + b.Stop() + " " + b.Def.Name + ", Tidemark"
	if b.Snapshot.Synthetic {
		source = b.T("embed.synthetic") + " " + source
	}
	return total + 16*lineHeight*wrappedLines(12.8, room, strings.Fields(source)) + 8 // letters of other fonts
}

// Said fills the gaps of a text.
func (b signalBody) Said(id string, values ...any) string { return fmt.Sprintf(b.T(id), values...) }

// wrappedLines is how many lines words of a size fill.
func wrappedLines(size, room float64, words []string) float64 {
	lines, left := 0., -1.
	for _, w := range words {
		width := textWidth(w, size)
		if left -= width + .32*size; left < 0 {
			lines, left = lines+1, room-width
		}
	}
	return lines
}

// textWidth is about how wide a text is, with letters of a size. Marks above or below a letter have no width.
func textWidth(text string, size float64) (width float64) {
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsUpper(r):
			width += .7
		case strings.ContainsRune(" .,:;iljtfr'|", r):
			width += .36
		default:
			width += .61
		}
	}
	return width * size
}
