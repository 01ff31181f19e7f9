package pages

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"tidemark"
	"tidemark/api/view"
	"tidemark/chain"
	"tidemark/signals"
)

// methodPage explains how signals, picks and the chain are built. The text about signals comes from their definitions, the text about picks
// from docs/method-picks.md.
func (p *Pages) methodPage(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	l := p.layout(r.site, r.path)
	l.Title = "Method" + suffix
	l.Description = "How signals are computed, how a stock is picked each trading day, and what the hash chain proves."
	body := struct {
		Signals  []*view.Signal
		LevelPct float64
		Picks    template.HTML
		Rule     string
		Chained  bool
	}{Signals: r.signals.Signals, LevelPct: signals.Level * 100, Rule: chain.Rule, Chained: r.record != nil}
	if p.o.Publications != nil {
		body.Picks = p.pickMethod
	}
	l.Body = body
	return p.document("method", l, time.Time{}), nil
}

var (
	firstHeading = regexp.MustCompile(`(?s)^<h1.*?</h1>\s*`)
	headingTag   = regexp.MustCompile(`<(/?)h([2-4])`)
)

// methodOfPicks renders the document about the picks as a part of a page. Its headings are one level lower, and each has an id.
func methodOfPicks() (template.HTML, error) {
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
	))
	if err := md.Convert([]byte(tidemark.PickMethod), &out); err != nil {
		return "", fmt.Errorf("render the method of the picks: %w", err)
	}
	text := firstHeading.ReplaceAllString(out.String(), "")
	text = headingTag.ReplaceAllStringFunc(text, func(tag string) string { return tag[:len(tag)-1] + string(tag[len(tag)-1]+1) })
	return template.HTML(scrollable(text)), nil
}

// scrollable makes wide tables and long lines of rendered Markdown scroll inside their boxes, which must be reachable by keyboard. Markdown
// text was escaped before, so the matches are elements only.
func scrollable(text string) string {
	return strings.NewReplacer("<table>", `<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`).Replace(text)
}
