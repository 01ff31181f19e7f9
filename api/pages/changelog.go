package pages

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/picks"
)

// change is a change that users of the service notice, in the form of /changelog.json.
type change struct {
	Date string `json:"date"`
	// Kind is one of kindsOfChange.
	Kind string `json:"kind"`
	Text string `json:"text"`
}

var kindsOfChange = []string{"added", "changed", "deprecated", "removed", "fixed"}

// readChangelog parses the changes of CHANGELOG.md, newest first. A level 2 heading is a day, a level 3 heading a kind, and a list item a
// change, which can continue in indented lines. Text before the first day is ignored.
func readChangelog(text string) ([]change, error) {
	var out []change
	var day, kind string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n ")
		fault := func(why string) error { return fmt.Errorf("line %d of the changelog: %s: %q", n, why, line) }
		if next, ok := strings.CutPrefix(line, "## "); ok {
			if _, err := time.Parse(time.DateOnly, next); err != nil {
				return nil, fault("expected a day such as 2026-11-21")
			}
			if day != "" && next >= day {
				return nil, fault("a day that is not before the one above")
			}
			day, kind = next, ""
			continue
		}
		if day == "" || line == "" {
			continue
		}
		if next, ok := strings.CutPrefix(line, "### "); ok {
			if kind = strings.ToLower(next); !slices.Contains(kindsOfChange, kind) {
				return nil, fault("expected one of " + strings.Join(kindsOfChange, ", "))
			}
			continue
		}
		if text, ok := strings.CutPrefix(line, "- "); ok && kind != "" {
			out = append(out, change{day, kind, text})
			continue
		}
		more, ok := strings.CutPrefix(line, "  ")
		if last := len(out) - 1; ok && last >= 0 && out[last].Date == day && out[last].Kind == kind {
			out[last].Text += " " + strings.TrimSpace(more)
			continue
		}
		return nil, fault("expected a change below its day and kind")
	}
	return out, nil
}

// changesPerPage bounds the bytes of the changes of a page. A compressed page has half as many.
const changesPerPage = 24 << 10

// changePages divides changes among pages. There is one page at least.
func changePages(list []change) [][]change {
	var out [][]change
	size := changesPerPage
	for _, c := range list {
		if size += len(c.Text); size > changesPerPage {
			out, size = append(out, nil), len(c.Text)
		}
		last := len(out) - 1
		out[last] = append(out[last], c)
	}
	if out == nil {
		out = [][]change{nil}
	}
	return out
}

// changesText writes changes as Markdown below the headings of their days and kinds.
func changesText(list []change) string {
	var out strings.Builder
	var above change
	for _, c := range list {
		if c.Date != above.Date {
			fmt.Fprintf(&out, "\n## %s\n", c.Date)
			above.Kind = ""
		}
		if c.Kind != above.Kind {
			fmt.Fprintf(&out, "\n### %s\n\n", sentence(c.Kind))
		}
		fmt.Fprintf(&out, "- %s\n", c.Text)
		above = c
	}
	return out.String()
}

// changelogBody is the content of a page of changes. Older is the address of the next page, and Newer that of the one before.
type changelogBody struct {
	Changes      template.HTML
	Older, Newer string
}

// changelog lists the changes, some on each page.
func (p *Pages) changelog(_ context.Context, r request) (*view.Document, error) {
	pages := changePages(p.changes)
	names := make([]string, len(pages))
	for i := range pages {
		names[i] = strconv.Itoa(i + 1)
	}
	name, err := r.one("cursor", "1", names...)
	if err != nil {
		return nil, err
	}
	at := slices.Index(names, name)
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	l := p.layoutIn(r.local(lang), r.site, r.path)
	if lang != picks.English { // only developers read it
		l.English = l.T("english.page")
	}
	l.Title = "Changelog" + suffix
	l.Description = "What changed in the service, the newest first."
	l.JSON = "/changelog.json"
	body := changelogBody{Changes: markdown(changesText(pages[at]))}
	if at+1 < len(pages) {
		body.Older = r.olderURL(names[at+1])
	}
	switch {
	case at > 1:
		body.Newer = r.olderURL(names[at-1])
	case at == 1:
		body.Newer = r.with("cursor", "")
	}
	l.Body = body
	return p.document("changelog", l, time.Time{}), nil
}

// changelogJSON lists the changes for programs.
func (p *Pages) changelogJSON(context.Context, request) (*view.Document, error) {
	body, err := view.Encode(struct {
		Data []change `json:"data"`
	}{p.changes})
	if err != nil {
		return nil, err
	}
	return view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}), nil
}
