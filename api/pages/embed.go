package pages

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/signals"
)

// embedBody is the content of the frame.
type embedBody struct {
	signalBody

	// Plot is the plot without the numbers of events, whose texts are not in the frame.
	Plot template.HTML
	// Page is the URL of the signal's page with the same view.
	Page string
}

// embed is the plot of a signal for a frame on another site: the finding, the plot and its source, for the view of its address.
func (p *Pages) embed(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	s := r.signals.Signal(r.rest)
	if s == nil {
		return nil, nil
	}
	shown, _, err := p.signalView(ctx, r, s)
	if err != nil {
		return nil, err
	}
	shown.Finding = shown.findingShown()
	body := embedBody{signalBody: shown, Plot: shown.Plots.Value, Page: p.o.PublicURL + shown.address("/signals/"+s.Definition.ID, shown.Span)}
	if body.Plots.Points > 0 {
		body.Plot = template.HTML(body.Plots.figure.SVG())
	}
	l := p.layoutIn(body.localizer, r.site, "/signals/"+s.Definition.ID)
	l.Title = body.titleOfDay(cmp.Or(body.Finding.String(), body.Def.Name), body.AsOf)
	l.Hidden, l.Body = true, body
	l.Scripts = []string{p.staticAddress("plot.js")}
	return secured(view.NewDocument(view.TypeHTML, view.CachePublic, p.framed("embed", l), time.Time{}), view.FramePolicy), nil
}

// framed renders a page for a frame on another site, with a template of the file of the embedded plot.
func (p *Pages) framed(name string, l layout) []byte {
	var out bytes.Buffer
	if err := p.templates["embed"].ExecuteTemplate(&out, name, l); err != nil {
		panic(fmt.Errorf("render a page for a frame: %w", err)) // a template that does not match its data is a bug
	}
	return out.Bytes()
}

// framedError says in the frame what is wrong, and leads to the signal's page in a window of its own.
type framedError struct {
	errorBody

	// Page is the URL of the signal's page, or of the home page. Name is the text of the link.
	Page, Name string
}

// problemInFrame is Problem for an address of a plot for other sites.
func (p *Pages) problemInFrame(l layout, body errorBody) []byte {
	framed := framedError{errorBody: body, Page: p.o.PublicURL + body.Up + body.InLang(), Name: "Tidemark"}
	if id, ok := strings.CutPrefix(body.Up, "/signals/"); ok {
		framed.Name = body.Own(p.o.View.State().Signal(id).Definition).Name + ", " + framed.Name
	}
	l.Canonical, l.Title, l.Body = framed.Page, body.Title, framed
	return p.framed("embedded problem", l)
}

// embedLine returns the line of HTML that shows a view of a signal on another site. It always names the language, so that visitors there see
// the language of the page from which the line comes. Browsers that do not know the width of a container take the height of a narrow frame.
func (p *Pages) embedLine(b signalBody) string {
	address := p.o.PublicURL + "/embed/" + b.Def.ID + "?" + viewOf(b.Span, b.AsOf) + "&lang=" + string(b.Lang)
	return fmt.Sprintf(`<div style="container-type:inline-size"><iframe src="%s" title="%s" width="%s" height="%s" style="%s" loading="lazy"></iframe></div>`,
		html.EscapeString(address), html.EscapeString(b.titleOfDay(b.Def.Name, b.AsOf)), "100%", strconv.FormatFloat(b.embedHeight(embedPhone), 'f', 0, 64), embedStyle(b.embedHeight))
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
	figure := body.Plots.figure
	figure.Title = body.titleOfDay(cmp.Or(body.findingShown().String(), figure.Title), body.AsOf)
	picture := figure.Alone(pictureWidth, body.keys(), body.pictureText()...)
	if picture == "" {
		return nil, refuse(view.CodeNotFound, "refuse.plot")
	}
	return secured(view.NewDocument(typeSVG, view.CachePublic, []byte(picture), time.Time{}), pictureOnly), nil
}

// HasNewest reports whether the plot goes on to the newest value, which the finding and the time of observation are about.
func (b signalBody) HasNewest() bool {
	return b.Span.To.IsZero() || b.Snapshot.ObservedAt == nil || b.Snapshot.ObservedAt.Before(b.Span.To.AddDate(0, 0, 1))
}

// findingShown is the finding if the plot shows its value, or else the zero value.
func (b signalBody) findingShown() signals.Finding {
	if !b.HasNewest() {
		return signals.Finding{}
	}
	return b.finding(b.Def, b.Snapshot)
}

// pictureWidth is the width in pixels. pictureLetters is how many letters fit on a line below the plot.
const pictureWidth, pictureLetters = 1000, 150

// pictureText returns the lines below a plot as an image: what is shown, as of when, whether it is real, the address of the page with the same
// view, and the licence.
func (b signalBody) pictureText() []string {
	titled := b.Titled
	if titled.Name == "all" {
		titled = span{From: b.Plots.from, To: b.Plots.to}
	}
	shown := b.Measure(b.Def) + ", " + b.RangeTitle(b.Def, titled) + b.Stop()
	if b.AsOf != "" {
		shown += " " + b.Say("signal.as of", b.Date(b.AsOf))
	}
	if b.Snapshot.Synthetic {
		shown += " " + b.T("embed.synthetic")
	}
	license, _ := b.licenseText(b.Def)
	return append([]string{shown, b.address(b.Snapshot.PageURL, b.Span)}, wrapped(license, pictureLetters)...)
}

// keys is the legend of the plot, as the page has it.
func (b signalBody) keys() []plot.Key {
	keys := []plot.Key{{Text: b.Measure(b.Def)}}
	for _, k := range []struct {
		shown       bool
		class, text string
	}{
		{b.Plots.Revised > 0, "ghost", b.T("signal.now")},
		{b.Plots.Reprinted > 0, "ghost", b.T("signal.first print")},
		{b.Plots.Baseline, "second", b.T("signal.baseline")},
		{b.Plots.Interval, "band", b.IntervalKey(b.Snapshot.Uncertainty, b.Plots)},
		{!b.Plots.Forecasts.Next.IsZero(), "fan", b.T("signal.fan")},
		{b.Plots.Forecasts.Held > 0, "held", b.T("signal.held")},
		{b.Plots.Forecasts.Missed() > 0, "missed", b.T("signal.missed")},
	} {
		if k.shown {
			keys = append(keys, plot.Key{Class: k.class, Text: k.text})
		}
	}
	return keys
}

// wrapped breaks a text between words into lines of at most so many letters. A longer word is a line.
func wrapped(text string, letters int) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		if n := len(lines) - 1; n >= 0 && utf8.RuneCountInString(lines[n]+" "+word) <= letters {
			lines[n] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// pictureOnly is the content security policy of an image: only its own style sheet.
const pictureOnly = "default-src 'none'; style-src 'unsafe-inline'"
