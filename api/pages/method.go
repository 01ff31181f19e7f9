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

// methodBody is the content of the page about the methods.
type methodBody struct {
	localizer

	Signals []*view.Signal
	// Picks is the document about the picks, which is in English. It is empty where there are no pages about picks.
	Picks   template.HTML
	Rule    string
	Chained bool
}

// Level is the share that intervals are built to hold.
func (b methodBody) Level() string { return b.Num(new(signals.Level*100), 0) + b.PercentSign() }

// Summary is the method of the picks in short.
func (b methodBody) Summary() []string {
	return []string{b.T("method.picks held"), b.T("method.picks universe"), b.T("method.picks score"), b.T("method.picks record")}
}

// methodPage explains how signals, picks and the chain are built. The text about signals comes from their definitions, the text about picks
// from docs/method-picks.md.
func (p *Pages) methodPage(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := methodBody{localizer: r.local(lang), Signals: r.signals.Signals, Rule: chain.Rule, Chained: r.record != nil}
	if p.o.Publications != nil {
		body.Picks = p.pickMethod
	}
	l := p.layoutIn(body.localizer, r.site, r.path)
	l.Title = body.T("method") + suffix
	l.Description = body.T("method.about")
	l.Body = body
	p.inLanguages(&l, r)
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
	return template.HTML(scrollable(string(written(template.HTML(labelCells(text)))))), nil
}

var (
	tableHead = regexp.MustCompile(`(?s)<th[^>]*>(.*?)</th>`)
	tableRow  = regexp.MustCompile(`(?s)<tr>(.*?)</tr>`)
	tableCell = regexp.MustCompile(`(?s)<td([^>]*)>(.*?)</td>`)
	wholeBody = regexp.MustCompile(`(?s)<table>.*?</table>`)
	textTag   = regexp.MustCompile(`<[^>]*>`)
)

// labelCells gives each cell of a table the name of its column, for narrow pages, where a row is some lines. A first cell without text gets the
// words of the group that it continues.
func labelCells(text string) string {
	return wholeBody.ReplaceAllStringFunc(text, func(table string) string {
		var heads []string
		for _, h := range tableHead.FindAllStringSubmatch(table, -1) {
			heads = append(heads, textTag.ReplaceAllString(h[1], ""))
		}
		group := ""
		return tableRow.ReplaceAllStringFunc(table, func(row string) string {
			column := -1
			return tableCell.ReplaceAllStringFunc(row, func(cell string) string {
				column++
				found := tableCell.FindStringSubmatch(cell)
				if column > 0 {
					return `<td data-head="` + heads[column] + `"` + found[1] + ">" + found[2] + "</td>"
				}
				if found[2] != "" {
					group = textTag.ReplaceAllString(found[2], "")
					return cell
				}
				return `<td data-group="` + group + `"` + found[1] + "></td>"
			})
		})
	})
}

// scrollable makes wide tables and long lines of rendered Markdown scroll inside their boxes, which must be reachable by keyboard. Markdown
// text was escaped before, so the matches are elements only.
func scrollable(text string) string {
	return strings.NewReplacer("<table>", `<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`).Replace(text)
}
