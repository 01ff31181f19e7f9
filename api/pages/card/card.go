// Package card draws the preview image of a page for social media: a PNG of 1200 by 630 pixels, as Open Graph recommends. It is a pure
// function of a few words and numbers. It imports no other package of the module. It uses the Go fonts, which cover Latin scripts. Start at
// Card.
package card

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Width and Height are the size of a card in pixels.
const Width, Height = 1200, 630

// Card is the content of an image. Empty fields are omitted.
type Card struct {
	// Kicker is above the title, Foot at the bottom.
	Kicker, Title, Value, Unit, Foot string
	// Course is drawn as a line below the value. NaN means unknown.
	Course []float64
}

// Apart separates the parts of the foot.
const Apart = "   "

// Text returns the words of the image in the order in which one reads them, for those who do not see it.
func (c Card) Text() string {
	var parts []string
	for _, part := range []string{c.Kicker, c.Title, strings.TrimSpace(c.Value + " " + c.Unit), strings.ReplaceAll(strings.TrimSpace(c.Foot), Apart, "; ")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ". ")
}

var (
	paper  = color.RGBA{0x0c, 0x14, 0x17, 0xff}
	ink    = color.RGBA{0xe6, 0xee, 0xf1, 0xff}
	quiet  = color.RGBA{0xa1, 0xb3, 0xbc, 0xff}
	accent = color.RGBA{0x74, 0xd1, 0xe2, 0xff}
	shade  = color.RGBA{0x16, 0x32, 0x39, 0xff}
)

// fonts are parsed once. The Go fonts always parse.
var fonts = sync.OnceValues(func() (regular, bold *opentype.Font) {
	return mustParse(goregular.TTF), mustParse(gobold.TTF)
})

func mustParse(ttf []byte) *opentype.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(fmt.Errorf("parse a Go font: %w", err))
	}
	return f
}

const margin = 80

// PNG draws the card.
func (c Card) PNG() ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, Width, Height))
	draw.Draw(img, img.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	c.drawCourse(img)
	regular, bold := fonts()
	write := func(f *opentype.Font, size float64, ink color.Color, x, y int, text string) (width int, err error) {
		face, err := fitFace(f, size, text, Width-margin-x)
		if err != nil {
			return 0, err
		}
		defer func() { _ = face.Close() }()
		d := font.Drawer{Dst: img, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(x, y)}
		text = fit(face, text, Width-margin-x)
		d.DrawString(text)
		return (d.Dot.X - fixed.I(x)).Ceil(), nil
	}
	for _, t := range []struct {
		font *opentype.Font
		size float64
		ink  color.Color
		y    int
		text string
	}{
		{bold, 40, accent, 110, "Tidemark"}, {regular, 32, quiet, 180, c.Kicker}, {bold, 58, ink, 250, c.Title}, {regular, 28, quiet, Height - 50, c.Foot},
	} {
		if _, err := write(t.font, t.size, t.ink, margin, t.y, t.text); err != nil {
			return nil, err
		}
	}
	width, err := write(bold, 92, ink, margin, 365, c.Value)
	if err != nil {
		return nil, err
	}
	if width > 0 {
		if _, err := write(regular, 36, quiet, margin+width+24, 365, c.Unit); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encode a card: %w", err)
	}
	return out.Bytes(), nil
}

// fitFace returns a font face at a size at which a text is at most width pixels wide. It never uses less than half of the wanted size.
func fitFace(f *opentype.Font, size float64, text string, width int) (font.Face, error) {
	for at := size; ; at *= 0.95 {
		face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: at, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return nil, fmt.Errorf("set a font to %g pixels: %w", at, err)
		}
		if at < size*0.5 || font.MeasureString(face, text).Ceil() <= width {
			return face, nil
		}
		_ = face.Close()
	}
}

// fit truncates a text to a width in pixels.
func fit(face font.Face, text string, width int) string {
	if font.MeasureString(face, text).Ceil() <= width {
		return text
	}
	letters := []rune(text)
	for len(letters) > 0 {
		letters = letters[:len(letters)-1]
		if short := strings.TrimSpace(string(letters)) + "…"; font.MeasureString(face, short).Ceil() <= width {
			return short
		}
	}
	return ""
}

// The vertical range of the course, in pixels.
const courseTop, courseEnd = 410, 540

// drawCourse draws the line and the area below it. An unknown value interrupts both. A point between two interruptions is a dot.
func (c Card) drawCourse(img draw.Image) {
	unknown := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	course := c.Course
	for len(course) > 0 && unknown(course[0]) {
		course = course[1:]
	}
	for len(course) > 0 && unknown(course[len(course)-1]) {
		course = course[:len(course)-1]
	}
	if len(course) < 2 {
		return
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range course {
		if !unknown(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if hi == lo {
		hi = lo + 1
	}
	at := func(i int) (x, y float32) {
		return float32(i) / float32(len(course)-1) * Width, float32(courseEnd - (course[i]-lo)/(hi-lo)*(courseEnd-courseTop))
	}
	area, line := vector.NewRasterizer(Width, Height), vector.NewRasterizer(Width, Height)
	for from := 0; from < len(course); {
		to := from
		for to < len(course) && !unknown(course[to]) {
			to++
		}
		if to > from {
			drawPiece(area, line, from, to, at)
		}
		from = to + 1
	}
	area.Draw(img, img.Bounds(), image.NewUniform(shade), image.Point{})
	line.Draw(img, img.Bounds(), image.NewUniform(accent), image.Point{})
}

// drawPiece adds the known points from one up to another to the area and the line.
func drawPiece(area, line *vector.Rasterizer, from, to int, at func(int) (x, y float32)) {
	const thickness = 2.5
	first, y := at(from)
	last, _ := at(to - 1)
	if to-from == 1 {
		quad(line, [4][2]float32{{first - 2*thickness, y - 2*thickness}, {first + 2*thickness, y - 2*thickness}, {first + 2*thickness, y + 2*thickness}, {first - 2*thickness, y + 2*thickness}})
		return
	}
	area.MoveTo(first, Height)
	for i := from; i < to; i++ {
		area.LineTo(at(i))
	}
	area.LineTo(last, Height)
	area.ClosePath()
	for i := from; i < to-1; i++ {
		x0, y0 := at(i)
		x1, y1 := at(i + 1)
		length := float32(math.Hypot(float64(x1-x0), float64(y1-y0)))
		if length == 0 {
			continue
		}
		dx, dy := (y1-y0)/length*thickness, -(x1-x0)/length*thickness
		quad(line, [4][2]float32{{x0 + dx, y0 + dy}, {x1 + dx, y1 + dy}, {x1 - dx, y1 - dy}, {x0 - dx, y0 - dy}})
	}
}

// quad adds a shape of four corners.
func quad(r *vector.Rasterizer, corners [4][2]float32) {
	r.MoveTo(corners[0][0], corners[0][1])
	for _, c := range corners[1:] {
		r.LineTo(c[0], c[1])
	}
	r.ClosePath()
}
