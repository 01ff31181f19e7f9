package pages

import (
	"slices"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

// text returns a parameter, empty if it is missing. Forms also send fields that were left empty, so an empty parameter counts as missing.
func (r request) text(name string) string {
	v := strings.TrimSpace(r.query.Get(name))
	if v != "" {
		r.seen.read.Set(name, v)
	}
	return v
}

// one returns a parameter with a fixed set of values.
func (r request) one(name, absent string, of ...string) (string, error) {
	switch v := r.text(name); {
	case v == "":
		return absent, nil
	case slices.Contains(of, v):
		return v, nil
	}
	return "", invalid("refuse.one of", name, of)
}

// day returns a parameter that is a day in UTC. It is zero if the parameter is missing or today: then the page shows the current state.
// Future days are rejected.
func (r request) day(name string, now time.Time) (time.Time, error) {
	text := r.text(name)
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, invalid("refuse.date", name)
	}
	switch today := now.UTC().Truncate(24 * time.Hour); {
	case day.After(today):
		return time.Time{}, invalid("refuse.future", name, now.UTC())
	case day.Equal(today):
		return time.Time{}, nil
	}
	return day, nil
}

// lang returns the language of the address, or without one the language that the visitor prefers.
func (r request) lang() (picks.Lang, error) {
	code := r.text("lang")
	if code == "" {
		r.seen.negotiated = true
		if r.prefers != picks.English {
			r.seen.read.Set("lang", string(r.prefers)) // the same page as at the address with this language
		}
		return r.prefers, nil
	}
	lang, ok := picks.ParseLang(code)
	if !ok {
		var named []string
		for _, l := range languages.All() {
			named = append(named, l.Name+" ("+string(l.Code)+")")
		}
		return "", refuse(view.CodeInvalidLang, "refuse.lang", strings.Join(named, ", "))
	}
	return lang, nil
}

func invalid(id string, values ...any) error { return refuse(view.CodeInvalidParameter, id, values...) }

// phrase is the id of a text in the languages.
type phrase string

// refuse returns a refusal whose detail is a translated text. Its values are texts, phrases, days, and lists of which one can be chosen.
func refuse(code, id string, values ...any) *view.Refusal {
	in := func(lang picks.Lang) string {
		l := localizer{Lang: lang}
		said := make([]any, len(values))
		for i, v := range values {
			switch of := v.(type) {
			case []string:
				v = l.oneOf(of)
			case time.Time:
				v = l.Date(of)
			case phrase:
				v = l.T(string(of))
			}
			said[i] = v
		}
		return l.Say(id, said...)
	}
	return &view.Refusal{Code: code, Detail: in(picks.English), In: in}
}

// leadTo adds a sentence to a refusal, and makes it the link to a page. An empty path means no link.
func leadTo(path string, refusal, link *view.Refusal) *view.Refusal {
	out := &view.Refusal{
		Code: refusal.Code, Detail: refusal.Detail + " " + link.Detail,
		In: func(lang picks.Lang) string { return refusal.In(lang) + " " + link.In(lang) },
	}
	if path != "" {
		out.Next = &view.NextPage{Path: path, In: link.In}
	}
	return out
}

// oneOf writes a choice as a list: "1y, 5y or all".
func (l localizer) oneOf(of []string) string {
	if len(of) < 2 {
		return strings.Join(of, "")
	}
	last := len(of) - 1
	return strings.Join(of[:last], ", ") + " " + l.T("or") + " " + of[last]
}
