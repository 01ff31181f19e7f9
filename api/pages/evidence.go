package pages

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
	"tidemark/signals"
)

// latest means the day of the newest snapshot, in a path.
const latest = "latest"

// maxEvidenceCells is how many cells of a baseline and of an interval the page shows, and maxEvidenceBodies how many bodies. The JSON has all.
const maxEvidenceCells, maxEvidenceBodies = 24, 12

// evidenceBody is the content of the evidence page of a number.
type evidenceBody struct {
	localizer

	// Def is the definition in the page's language.
	Def    signals.Definition
	Signal *view.Signal
	*view.Evidence

	// NewestValue, NewestBaseline and NewestInterval are the newest cells of the three, newest first. Shown are the bodies of the cells that are shown, as far as there is room.
	NewestValue, NewestBaseline, NewestInterval []view.EvidenceCell
	Shown                                       []view.EvidenceBody
	// Missing is nil unless the page is about another day than the one in its address.
	Missing *missingDay
	// Known says at the end of which day the number of a day was known. It is empty for the current state.
	Known string
	// Query selects the same snapshot in the API, and Cells the same evidence. Site is the base URL of the program.
	Query, Cells template.URL
	Site         string
	// First is the address of the numbers of the day as they were shown first. It is empty if they are the same.
	First string
	// Back is the address of the signal's page, of the same day.
	Back string
	// Method is the address of the signal's brief, of the same day.
	Method string
}

// missingDay says that a day has no number, and links to the days around it.
type missingDay struct {
	Text string
	Days []dayLink
}

type dayLink struct{ Text, Address string }

// otherDays leads to the nearest earlier and the nearest later day with a number. query selects the state and the language of the page.
func otherDays(local localizer, d signals.Definition, other *view.OtherDay, query string) []dayLink {
	link := func(word, day string) dayLink {
		text := day
		if at, err := time.Parse(time.DateOnly, day); err == nil {
			text = view.WriteDay(local.language(), d, at)
		}
		return dayLink{fmt.Sprintf(local.T(word), text), "/evidence/" + d.ID + "/" + day + query}
	}
	days := []dayLink{link("day.earlier", other.Shown)}
	if other.Later != nil {
		days = append(days, link("day.later", *other.Later))
	}
	return days
}

// noNumber says that no number is about a day or an earlier one, and leads to the first day that one is about. asOf is the day at whose end
// this was so, zero for now.
func noNumber(d signals.Definition, none *view.NoSuchDayError, asOf time.Time) *view.Refusal {
	later := func(lang picks.Lang) string {
		local := localizer{Lang: lang}
		return fmt.Sprintf(local.T("day.later"), view.WriteDay(local.language(), d, none.First))
	}
	in := func(lang picks.Lang) string {
		local := localizer{Lang: lang}
		text := fmt.Sprintf(local.T("day.none before"), local.Date(none.Day.Format(time.DateOnly)))
		if !asOf.IsZero() {
			text = local.Say("compare.known", local.Date(asOf)) + " " + text
		}
		if !none.First.IsZero() {
			text += " " + later(lang)
		}
		return text
	}
	out := &view.Refusal{Code: view.CodeNotFound, Detail: in(picks.English), In: in}
	if !none.First.IsZero() {
		out.Next = &view.NextPage{Path: "/evidence/" + d.ID + "/" + none.First.Format(time.DateOnly) + asOfQuery(dayOrNone(asOf)), In: later}
	}
	return out
}

// Observations says how many observations there are, and how many of them the page shows.
func (e evidenceBody) Observations(all, shown []view.EvidenceCell) string {
	switch {
	case len(all) == 1:
		return e.T("evidence.observation")
	case len(shown) < len(all):
		return e.Say("evidence.observations shown", e.Count(len(all)), len(shown))
	}
	return e.Say("evidence.observations", e.Count(len(all)))
}

// newestCells returns the n newest of some cells, newest first.
func newestCells(cells []view.EvidenceCell, n int) []view.EvidenceCell {
	out := slices.Clone(cells)
	slices.SortStableFunc(out, func(a, b view.EvidenceCell) int { return b.ObservedAt.Compare(a.ObservedAt) })
	return out[:min(len(out), n)]
}

// Digits writes a number, or the numbers in a formula, with the decimal separator of the language. All digits stay.
func (l localizer) Digits(v any) string {
	text, isText := v.(string)
	if f := finite(valueOf(v)); !isText && f == nil {
		return l.T("unknown")
	} else if !isText {
		text = minus(strconv.FormatFloat(*f, 'f', -1, 64))
	}
	return pointBetweenDigits.ReplaceAllString(text, "${1}"+l.language().Decimal+"${2}")
}

var pointBetweenDigits = regexp.MustCompile(`([0-9])\.([0-9])`)

// Formula writes the formula of a step, or its note, in the reader's language. Most formulas have no words.
func (e evidenceBody) Formula(english string) string {
	if english == e.Signal.Definition.Technique {
		return e.Technique(e.Def)
	}
	text, ok := languages.Reword(e.Lang, "evidence.note", english, e.filled)
	if !ok {
		text = e.Digits(english)
	}
	return operators.Replace(text)
}

// operators are the signs of a formula that a program writes, as a reader knows them.
var operators = strings.NewReplacer(" * ", " × ", " - ", " − ")

// formulaLine is a line of a brief with a formula: Markdown's indented code.
var formulaLine = regexp.MustCompile(`(?m)^ {4}.*$`)

// Conversion says how the numbers of the formulas become the numbers of the page. It is empty if both are the same.
func (e evidenceBody) Conversion() string {
	per := e.Def.Scale()
	if per == 1 {
		return ""
	}
	number := strings.TrimRight(e.Num(&per, 4), "0")
	return e.Say("evidence.conversion", e.Worded("evidence.unit", e.Signal.Definition.Unit), strings.TrimRight(number, e.language().Decimal), e.FigureUnit(e.Def))
}

// filled writes what fills a place of a note: a number, or names of components.
func (e evidenceBody) filled(english string) string {
	names := strings.Split(english, ", ")
	for i, name := range names {
		at := slices.IndexFunc(e.Signal.Snapshot.Components, func(c view.Component) bool { return c.Name == name })
		if at < 0 {
			return e.Digits(minus(english))
		}
		names[i], _, _ = strings.Cut(e.Label(e.Def, e.Signal.Snapshot.Components[at]), ", ") // the rest is its place
	}
	return e.language().List(names)
}

// Steps are the numbers with their formulas, without the percentage of a margin.
func (e evidenceBody) Steps() []view.EvidenceStep {
	if !e.Def.Margin {
		return e.Evidence.Steps
	}
	return slices.DeleteFunc(slices.Clone(e.Evidence.Steps), func(s view.EvidenceStep) bool { return s.Name == "delta_vs_baseline_pct" })
}

// Link returns where a body is: its row on the page, or its bytes if the page does not list it.
func (e evidenceBody) Link(sha256 string) string {
	if slices.ContainsFunc(e.Shown, func(b view.EvidenceBody) bool { return b.SHA256 == sha256 }) {
		return "#body-" + sha256
	}
	return "/raw/" + sha256
}

// evidence traces a signal's number on a day, or the newest, to the bytes behind it. Both can be those as known at the end of a day.
func (p *Pages) evidence(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	id, name, _ := strings.Cut(r.rest, "/")
	s := r.signals.Signal(id)
	if s == nil {
		return nil, nil
	}
	var day time.Time
	var err error
	if name != latest {
		if day, err = time.Parse(time.DateOnly, name); err != nil {
			return nil, nil //nolint:nilerr // not an address of a page
		}
	}
	asOf, err := r.day("as_of", p.o.View.Now())
	if err != nil {
		return nil, err
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	local := r.local(lang)
	wanted := view.EvidenceRequest{Day: day, Lang: lang}
	shown := &s.Snapshot
	if !asOf.IsZero() {
		wanted.AsOf = endOf(asOf)
		if shown, err = p.snapshotAsOf(ctx, r, s, asOf); err != nil {
			return nil, err
		}
	}
	e, err := p.o.View.Evidence(ctx, s, wanted)
	none := (*view.NoSuchDayError)(nil)
	if errors.As(err, &none) {
		return nil, noNumber(s.Definition, none, asOf)
	}
	if e == nil || err != nil {
		return nil, err
	}
	body := evidenceBody{
		localizer: local, Def: local.Own(s.Definition), Signal: s, Evidence: e, NewestValue: newestCells(e.ValueCells, len(e.ValueCells)), NewestBaseline: newestCells(e.BaselineCells, maxEvidenceCells), NewestInterval: newestCells(e.IntervalCells, maxEvidenceCells), Shown: e.Bodies[:min(len(e.Bodies), maxEvidenceBodies)],
		Query: template.URL("as_of=" + e.AsOf.Format(time.RFC3339Nano)), Site: p.o.PublicURL, //nolint:gosec // an instant
	}
	body.Cells = body.Query
	if !e.Newest {
		body.Cells = template.URL("date="+e.ObservedAt.Format(time.DateOnly)+"&") + body.Query //nolint:gosec // a day
	}
	if first := e.First.UTC(); !first.IsZero() && first.Truncate(24*time.Hour).Before(e.AsOf.Truncate(24*time.Hour)) { // a page is of the end of a day
		body.First = "/evidence/" + id + "/" + e.ObservedAt.Format(time.DateOnly) + local.ofDay(first.Format(time.DateOnly))
	}
	query := local.ofDay(dayOrNone(asOf))
	body.Back, body.Method = "/signals/"+id+query, "/signals/"+id+"/brief"+query
	l := p.layoutIn(local, r.site, r.path)
	if other := e.OtherDay; other != nil {
		body.Missing = &missingDay{Text: other.Text, Days: otherDays(local, s.Definition, other, query)}
	}
	if !asOf.IsZero() && !day.IsZero() {
		body.Known = local.Say("compare.known", local.Date(asOf))
	}
	l.Title = local.titleOfDay(local.Say("evidence.page", body.Def.Name), dayOrNone(asOf)) + suffix
	l.Description = local.Say("evidence.about", body.Def.Name)
	l.JSON = "/api/signals/" + s.Definition.ID + "/evidence"
	if !asOf.IsZero() {
		l.JSON += "?" + string(body.Cells)
	}
	if lang == picks.English {
		l.Disclaimer = s.Snapshot.Disclaimer
	}
	p.signalPicture(&l, s.Definition, *shown, dayOrNone(asOf))
	l.Scripts = []string{p.staticAddress("evidence.js")}
	l.Body = body
	p.inLanguages(&l, r)
	if other := e.OtherDay; other != nil {
		l.Canonical = p.o.PublicURL + "/evidence/" + id + "/" + other.Shown + pictureQuery(dayOrNone(asOf), lang)
	}
	return p.document("evidence", l, time.Time{}), nil
}
