package pages

import (
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/text/message"
	xnumber "golang.org/x/text/number"

	"tidemark/api/view"
	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

// localizer writes in one language: words, dates, and numbers with the grouping of the language, which in Hindi is 12,34,567.
type localizer struct{ Lang picks.Lang }

// language is what is known of the language.
func (l localizer) language() *locale.Language { return languages.Or(l.Lang) }

// T is a word. One that is not there is a programmer's error.
func (l localizer) T(id string) string {
	w, ok := l.language().Words[id]
	if !ok {
		panic("there is no word for " + id)
	}
	return w
}

func (l localizer) decimals(v float64, n int) string {
	s := message.NewPrinter(l.language().Tag).Sprint(xnumber.Decimal(math.Abs(v), xnumber.Scale(n)))
	return s
}

// Num writes a number with so many decimals.
func (l localizer) Num(f *float64, n int) string {
	if f == nil {
		return l.T("unknown")
	}
	s := l.decimals(*f, n)
	if *f < 0 && strings.Trim(s, "0.,") != "" {
		return "−" + s
	}
	return s
}

// Pct writes a percentage with its sign and two decimals.
func (l localizer) Pct(f *float64) string {
	if f == nil {
		return l.T("unknown")
	}
	s := l.Num(f, 2)
	if *f > 0 && strings.Trim(s, "0.,") != "" {
		s = "+" + s
	}
	return s + l.percent()
}

// Waits reports whether no session has closed since the pick, so that it has no return yet.
func (l localizer) Waits(k *view.Pick) bool {
	return k.LastPriceAt == nil || k.LastPriceAt.UTC().Format(time.DateOnly) <= k.Date
}

// Share writes a part of 100 with two decimals.
func (l localizer) Share(v float64) string { return l.Num(&v, 2) + l.percent() }

// percent is the sign, after the space that the language wants.
func (l localizer) percent() string {
	return strings.TrimPrefix(l.language().Units[locale.Percent], "N")
}

// Price writes a price as it was recorded, with the grouping of the language. The hashed text itself is shown elsewhere.
func (l localizer) Price(text string) string {
	var v float64
	if _, err := fmt.Sscanf(text, "%g", &v); err != nil {
		return text
	}
	_, fraction, _ := strings.Cut(text, ".")
	return l.decimals(v, len(fraction))
}

// Fact writes a plain decimal text; a text that is no number stays as it is.
func (l localizer) Fact(text string) string {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 {
		return text
	}
	out := l.Price(digits)
	if digits != text {
		return "−" + out
	}
	return out
}

// Date writes a day that is given as YYYY-MM-DD, or as an instant, of which it is the day in UTC.
func (l localizer) Date(day any) string {
	var at time.Time
	switch d := day.(type) {
	case string:
		var err error
		if at, err = time.Parse(time.DateOnly, d); err != nil {
			return d
		}
	case *string:
		if d == nil {
			return l.T("unknown")
		}
		return l.Date(*d)
	default:
		at = timeOf(day).UTC()
	}
	return picks.WriteDate(l.Lang, at)
}

// Sector is the name of a sector.
func (l localizer) Sector(name string) string {
	return sentence(picks.WriteTerm(l.Lang, "sector."+name))
}

// Country is the name of a country by its code; an unknown one is said to be so.
func (l localizer) Country(code string) string {
	if code == "" {
		return l.T("unknown")
	}
	return picks.WriteTerm(l.Lang, "country."+code)
}

// Tone is the class of a number: up, down or none.
func (l localizer) Tone(f *float64) string {
	switch {
	case f == nil || *f == 0:
		return ""
	case *f > 0:
		return "up"
	}
	return "down"
}
