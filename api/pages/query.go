package pages

import (
	"fmt"
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
	return "", invalid("%s can be %s.", name, strings.Join(of, " or "))
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
		return time.Time{}, invalid("%s is not a date such as 2026-03-04.", name)
	}
	switch today := now.UTC().Truncate(24 * time.Hour); {
	case day.After(today):
		return time.Time{}, invalid("%s lies in the future: here it is %s.", name, instant(now))
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
		return "", &view.Refusal{Code: view.CodeInvalidLang, Detail: "The languages are " + languages.Listed("and") + "."}
	}
	return lang, nil
}

func invalid(format string, args ...any) error {
	return &view.Refusal{Code: view.CodeInvalidParameter, Detail: fmt.Sprintf(format, args...)}
}
