package card

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
)

func drawn(t *testing.T, c Card) image.Image {
	t.Helper()
	body, err := c.PNG()
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > 300_000 {
		t.Errorf("the card has %d bytes", len(body))
	}
	img, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if got := img.Bounds(); got != image.Rect(0, 0, 1200, 630) {
		t.Errorf("the card is %v", got)
	}
	return img
}

// differ counts the different pixels in a part of two images.
func differ(a, b image.Image, part image.Rectangle) int {
	n := 0
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return n
}

func TestCard(t *testing.T) {
	t.Parallel()
	empty := drawn(t, Card{})
	full := drawn(t, Card{Kicker: "energy", Title: "3:2:1 crack spread", Value: "−16.21", Unit: "USD/bbl", Foot: "observed 2026-11-16", Course: []float64{1, 3, math.NaN(), 2, 5}})
	for name, part := range map[string]image.Rectangle{
		"title": image.Rect(80, 200, 700, 265), "value": image.Rect(80, 290, 400, 370), "course": image.Rect(0, 410, 1200, 540), "foot": image.Rect(80, 550, 600, 600),
	} {
		if n := differ(empty, full, part); n < 100 {
			t.Errorf("%s: %d pixels are drawn", name, n)
		}
	}
	long := drawn(t, Card{Title: strings.Repeat("a very long name ", 20)})
	if n := differ(empty, long, image.Rect(1121, 190, 1200, 270)); n > 0 {
		t.Errorf("a long title runs %d pixels into the margin", n)
	}
	// An unknown value interrupts the line and the area. A value without neighbours is a dot.
	broken := drawn(t, Card{Course: []float64{1, 3, math.NaN(), 2, 5, math.NaN(), 2, math.NaN(), 4, 4}})
	for x, want := range map[int]bool{60: true, Width * 2 / 9: false, Width * 7 / 18: true, Width * 5 / 9: false, Width * 6 / 9: true, Width * 7 / 9: false, Width - 60: true} {
		if got := differ(empty, broken, image.Rect(x-2, 400, x+2, Height)) > 0; got != want {
			t.Errorf("something is drawn at %d: %t", x, got)
		}
	}
	for _, course := range [][]float64{{1}, {2, 2, 2}, {math.NaN(), math.NaN()}} {
		drawn(t, Card{Course: course})
	}
}

func TestTheTextOfACardHasAllItsWords(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Card{
		"energy. 3:2:1 crack spread. −16.21 USD/bbl. observed 2026-11-16; synthetic data": {Kicker: "energy", Title: "3:2:1 crack spread", Value: "−16.21", Unit: "USD/bbl", Foot: "observed 2026-11-16" + Apart + "synthetic data"},
		"Acme. ACME": {Title: "Acme", Value: "ACME"},
		"":           {},
	} {
		if got := c.Text(); got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
	}
}

func TestTheFontsHaveTheLettersOfTheLanguagesWithPictures(t *testing.T) {
	t.Parallel()
	var buf sfnt.Buffer
	regular, bold := fonts()
	for _, f := range []*sfnt.Font{regular, bold} {
		for _, letter := range "áéíóúüñçãõâêô¿¡ºª−–…%$€\u00a0" {
			if i, err := f.GlyphIndex(&buf, letter); err != nil || i == 0 {
				t.Errorf("%q has no glyph: %v", letter, err)
			}
		}
	}
}

func TestTheLongestFindingsAreNotCut(t *testing.T) {
	t.Parallel()
	_, bold := fonts()
	for _, title := range []string{"15,52 dólares por debajo de lo normal para mediados de septiembre", "US$ 15,52 abaixo do normal para meados de setembro"} {
		face, err := fitFace(bold, 58, title, Width-2*margin)
		if err != nil {
			t.Fatal(err)
		}
		if got := fit(face, title, Width-2*margin); got != title {
			t.Errorf("%q is cut to %q", title, got)
		}
	}
}
