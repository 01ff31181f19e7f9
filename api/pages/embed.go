package pages

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"tidemark/api/view"
)

// embedPolicy allows other sites to show the page in a frame. The page loads nothing from other sites, and has no form and no cookie.
const embedPolicy = "default-src 'self'; base-uri 'none'; form-action 'none'"

// embed is the plot of a signal for a frame on another site: the finding, the plot and its source.
func (p *Pages) embed(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	s := r.signals.Signal(r.rest)
	if s == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	l := p.layoutIn(r.local(lang), r.site, "/signals/"+s.Definition.ID)
	body := l.lead(s)
	l.Title = cmp.Or(body.Finding, body.Def.Name)
	l.Hidden, l.Body = true, body
	var out bytes.Buffer
	if err := p.templates["embed"].ExecuteTemplate(&out, "embed", l); err != nil {
		panic(fmt.Errorf("render the embedded plot: %w", err)) // a template that does not match its data is a bug
	}
	return secured(view.NewDocument(view.TypeHTML, view.CachePublic, out.Bytes(), time.Time{}), embedPolicy), nil
}

// typeSVG is the media type of a standalone SVG image.
const typeSVG = "image/svg+xml"

// plotName is the last part of the path of a signal's plot as an image.
const plotName = "/plot.svg"

// plotImage returns the plot of a signal as an image, with the range and the day of the page.
func (p *Pages) plotImage(ctx context.Context, r request, s *view.Signal) (*view.Document, error) {
	body, _, err := p.signalView(ctx, r, s)
	if err != nil {
		return nil, err
	}
	picture := body.Plots.figure.Alone(pictureWidth, body.Plots.source[:]...)
	if picture == "" {
		return nil, refuse(view.CodeNotFound, "refuse.plot")
	}
	return secured(view.NewDocument(typeSVG, view.CachePublic, []byte(picture), time.Time{}), pictureOnly), nil
}

// pictureWidth is the width in pixels.
const pictureWidth = 1000

// pictureOnly is the content security policy of an image: only its own style sheet.
const pictureOnly = "default-src 'none'; style-src 'unsafe-inline'"
