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

// drawCourse draws the line and the area below it.
func (c Card) drawCourse(img draw.Image) {
	lo, hi := math.Inf(1), math.Inf(-1)
	known := make([]float64, 0, len(c.Course))
	for _, v := range c.Course {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi, known = min(lo, v), max(hi, v), append(known, v)
		}
	}
	if len(known) < 2 {
		return
	}
	if hi == lo {
		hi = lo + 1
	}
	at := func(i int) (x, y float32) {
		return float32(i) / float32(len(known)-1) * Width, float32(courseEnd - (known[i]-lo)/(hi-lo)*(courseEnd-courseTop))
	}
	area := vector.NewRasterizer(Width, Height)
	area.MoveTo(0, Height)
	for i := range known {
		area.LineTo(at(i))
	}
	area.LineTo(Width, Height)
	area.ClosePath()
	area.Draw(img, img.Bounds(), image.NewUniform(shade), image.Point{})

	const thickness = 2.5
	line := vector.NewRasterizer(Width, Height)
	for i := range len(known) - 1 {
		x0, y0 := at(i)
		x1, y1 := at(i + 1)
		length := float32(math.Hypot(float64(x1-x0), float64(y1-y0)))
		if length == 0 {
			continue
		}
		dx, dy := (y1-y0)/length*thickness, -(x1-x0)/length*thickness
		line.MoveTo(x0+dx, y0+dy)
		line.LineTo(x1+dx, y1+dy)
		line.LineTo(x1-dx, y1-dy)
		line.LineTo(x0-dx, y0-dy)
		line.ClosePath()
	}
	line.Draw(img, img.Bounds(), image.NewUniform(accent), image.Point{})
}
