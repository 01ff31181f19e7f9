package pages

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language/display"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
	"tidemark/signals"
)

// docsBody is the content of the documentation.
type docsBody struct {
	localizer

	PublicURL string
	// Info is nil without a Picks API.
	Info     *view.Info
	Prices   []price
	Signals  []*view.Signal
	Problems []view.ProblemKind
	// Record, Described and Agents report whether the record, the descriptions for programs and the MCP server exist.
	Record, Described, Agents bool
	// Written are the names of the languages of the texts.
	Written string
	// Tabs are the languages of the examples. Code is the chosen one.
	Tabs []choice
	Code string
	// Examples are keyed by the sections of the page.
	Examples map[string][]example
}

// price is the price of one endpoint in US dollars.
type price struct{ Path, USD string }

// example is a request with its code and the answer of this server.
type example struct {
	// ID is unique on the page. Title says what is asked.
	ID, Title string
	// Path is the address without the server's name. Keyed reports that it needs a key.
	Path  string
	Keyed bool
	// Columns are those of its table that the code prints. An answer in JSON has none.
	Columns []string
	// Code asks for it. Answer is the beginning of the answer now, empty if none exists.
	Code, Answer string
}

// docs explains how programs use the service. Each example has the code of one language and the answer of this server.
func (p *Pages) docs(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil || len(r.signals.Signals) == 0 {
		return nil, nil
	}
	var names []string
	for _, c := range codes {
		names = append(names, c.id)
	}
	code, err := r.one("code", names[0], names...)
	if err != nil {
		return nil, err
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	local := r.local(lang)
	l := p.layoutIn(local, r.site, r.path)
	body := docsBody{
		localizer: local, PublicURL: p.o.PublicURL, Signals: r.signals.Signals, Problems: view.ProblemKinds(), Record: r.record != nil, Described: p.o.Described, Agents: p.o.Agents,
		Written: local.languageNames(), Code: code,
	}
	for _, c := range codes {
		address := r.path + "?code=" + c.id + string(l.AndLang())
		if c.id == names[0] {
			address = r.path + l.InLang()
		}
		body.Tabs = append(body.Tabs, choice{Name: c.name, Address: address, Chosen: c.id == code})
	}
	if r.published != nil {
		if body.Info, _, err = data[view.Info](r.published.Info(nil)); err != nil {
			return nil, err
		}
		for _, path := range slices.Sorted(maps.Keys(body.Info.Prices)) {
			body.Prices = append(body.Prices, price{path, body.Info.Prices[path]})
		}
	}
	if body.Examples, err = p.examples(ctx, r, local, code); err != nil {
		return nil, err
	}
	l.Title = local.T("docs.title") + suffix
	l.Description = local.T("docs.about")
	l.Scripts = []string{p.staticAddress("docs.js")}
	l.Body = body
	p.inLanguages(&l, r)
	l.Canonical = p.o.PublicURL + r.path + inLanguage(lang) // in whichever language the code is
	return p.document("docs", l, time.Time{}), nil
}

// languageNames joins the names of the languages of the texts: "Spanish, English, Portuguese and Hindi".
func (l localizer) languageNames() string {
	var names []string
	for _, of := range languages.All() {
		names = append(names, display.Languages(l.language().Tag).Name(of.Tag))
	}
	return l.language().List(names)
}

// WithoutKey says how to pay for one response. list is the address of the endpoints.
func (b docsBody) WithoutKey(list string) template.HTML {
	return b.Marked("docs.x402", template.HTML("<b>"+template.HTMLEscapeString(b.T("docs.without key"))+"</b>"), code("/api/v1/x402"), anchor(list, "x402/info")) //nolint:gosec // escaped
}

// Unit names the unit in which the API writes a signal. English has the API's own name.
func (b docsBody) Unit(d signals.Definition) string {
	if b.Lang == picks.English {
		return d.Unit
	}
	if words, ok := b.language().Words["evidence.unit."+d.Unit]; ok {
		return words
	}
	own := b.Own(d)
	return cmp.Or(b.UnitBefore(own), b.MeasureUnit(own))
}

// examples returns the examples of the page with the answers of now. An example that needs the database has no answer while the
// database is unavailable.
func (p *Pages) examples(ctx context.Context, r request, l localizer, code string) (map[string][]example, error) {
	s := r.signals.Signals[0]
	for _, other := range r.signals.Signals {
		if other.Definition.Frequency != "monthly" {
			s = other
			break
		}
	}
	id := s.Definition.ID
	list := map[string][]example{}
	add := func(section string, e example, answer []byte) {
		e.Code = codeOf(code, p.o.PublicURL, e)
		e.Answer = excerpt(answer, e.Columns != nil)
		list[section] = append(list[section], e)
	}
	encoded := func(v any, err error) ([]byte, error) {
		if err != nil {
			if view.Unavailable(err) {
				err = nil
			}
			return nil, err
		}
		return view.Encode(v)
	}
	add("signals", example{ID: "get-signal", Title: l.T("docs.get signal"), Path: "/api/signals/" + id}, s.JSON.Identity.Body)
	if newest := s.History.Last(); !newest.IsZero() {
		from := newest.AddDate(0, 0, -28).Format(time.DateOnly)
		listing, err := p.o.View.History(ctx, s, view.ListingRequest{Format: view.FormatCSV, From: newest.AddDate(0, 0, -28).Truncate(24 * time.Hour)})
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := listing.Write(ctx, &text, 0); err != nil {
			return nil, fmt.Errorf("write a history: %w", err)
		}
		add("signals", example{ID: "get-history", Title: l.T("docs.get history"), Path: "/api/signals/" + id + "/history?format=csv&from=" + from, Columns: []string{"observed_at", "value"}}, text.Bytes())
	}
	then := p.o.View.Now().UTC().AddDate(0, 0, -7).Truncate(24 * time.Hour)
	past, err := p.o.View.SnapshotAsOf(ctx, s, endOf(then))
	answer, err := encoded(past, err)
	if err != nil {
		return nil, err
	}
	if past != nil {
		add("signals", example{ID: "get-as-of", Title: l.T("docs.get as of"), Path: "/api/signals/" + id + "?as_of=" + then.Format(time.DateOnly)}, answer)
	}
	if answer, err = encoded(p.o.View.Calendar(ctx, r.signals)); err != nil {
		return nil, err
	}
	add("changes", example{ID: "get-calendar", Title: l.T("docs.get calendar"), Path: "/api/calendar"}, answer)
	if r.published != nil {
		doc, err := r.published.LatestPick(picks.English)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			add("keys", example{ID: "get-pick", Title: l.T("docs.get pick"), Path: "/api/v1/picks/latest", Keyed: true}, doc.Identity.Body)
		}
	}
	if r.record != nil { // as a table: in JSON it says when the chain was recomputed last, and the page would be another one each time
		var text bytes.Buffer
		if err := r.record.Page(1, 2, view.FormatCSV).Write(ctx, &text, 0); err != nil {
			return nil, fmt.Errorf("write the record: %w", err)
		}
		add("record", example{ID: "get-record", Title: l.T("docs.get record"), Path: "/api/v1/verify/picks?format=csv&limit=2", Columns: []string{"seq", "date", "ticker", "price"}}, text.Bytes())
	}
	return list, nil
}

// excerptLines and excerptWidth bound the shown beginning of an answer.
const excerptLines, excerptWidth = 16, 120

// excerpt returns the beginning of an answer, one member a line.
func excerpt(answer []byte, text bool) string {
	if len(answer) == 0 {
		return ""
	}
	if !text {
		var indented bytes.Buffer
		if err := json.Indent(&indented, answer, "", "  "); err != nil {
			return ""
		}
		answer = indented.Bytes()
	}
	lines := strings.Split(strings.TrimRight(string(answer), "\r\n"), "\n")
	more := len(lines) > excerptLines
	lines = lines[:min(len(lines), excerptLines)]
	for i, line := range lines {
		if letters := []rune(strings.TrimRight(line, "\r")); len(letters) > excerptWidth {
			line = string(letters[:excerptWidth]) + "…"
		}
		lines[i] = strings.TrimRight(line, "\r")
	}
	if more {
		lines = append(lines, "…")
	}
	return strings.Join(lines, "\n")
}
