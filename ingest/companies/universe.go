package companies

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/equity"
	"tidemark/internal/nearest"
)

// Universe selects the followed companies from the list of all companies with tickers. A company that was followed once is followed
// permanently, even if the universe changes. The zero value selects no company.
type Universe struct {
	// Top takes that many of the largest companies.
	Top int
	// Tickers and CIKs name single companies. A ticker means the company that has it on the day of the list.
	Tickers []string
	CIKs    []equity.CIK
}

var errUniverse = errors.New(`want "top 300" for the 300 largest companies, or tickers and CIKs: "AAPL MSFT BRK-B 0000320193"`)

// ParseUniverse reads "top N", or tickers and CIKs between which stand commas, spaces or line ends; what follows # on a line is a remark.
func ParseUniverse(text string) (Universe, error) {
	var words []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words = append(words, strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })...)
	}
	if len(words) == 2 && strings.EqualFold(words[0], "top") {
		n, err := strconv.Atoi(words[1])
		if err != nil || n <= 0 {
			return Universe{}, fmt.Errorf("%q: %w", text, errUniverse)
		}
		return Universe{Top: n}, nil
	}
	if meant := meantTop(words); meant != "" {
		return Universe{}, fmt.Errorf("%q: did you mean %q? %w", strings.TrimSpace(text), meant, errUniverse)
	}
	var u Universe
	for _, w := range words {
		w = strings.ToUpper(w)
		if n, err := strconv.ParseInt(w, 10, 64); err == nil && n > 0 {
			u.CIKs = append(u.CIKs, equity.CIK(n))
			continue
		}
		if len(w) > 12 || strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != "" {
			return Universe{}, fmt.Errorf("%.40q is not a ticker: %w", w, errUniverse)
		}
		u.Tickers = append(u.Tickers, strings.ReplaceAll(w, ".", "-"))
	}
	if len(u.Tickers)+len(u.CIKs) == 0 {
		return Universe{}, fmt.Errorf("no company: %w", errUniverse)
	}
	return u, nil
}

// meantTop is the "top N" that words are a slip of: "top300", "tpo 300", "300". The CIKs of listed companies begin at 1750.
func meantTop(words []string) string {
	upTo := func(w string, most int) bool {
		n, err := strconv.Atoi(w)
		return err == nil && n > 0 && n <= most && !strings.HasPrefix(w, "0")
	}
	switch {
	case len(words) == 1 && upTo(words[0], 1500):
		return "top " + words[0]
	case len(words) == 1 && len(words[0]) > 3 && strings.EqualFold(words[0][:3], "top"):
		if n := strings.TrimLeft(words[0][3:], "-=:"); upTo(n, 100_000) {
			return "top " + n
		}
	case len(words) == 2 && upTo(words[1], 10_000) && nearest.Of(words[0], "top") != "":
		return "top " + words[1]
	}
	return ""
}

// Choose picks the universe's companies from a list of all, the largest first, and says which of the named ones are not in it. The
// funds that the portfolio is compared with are never chosen.
func (u Universe) Choose(all []equity.Company) (chosen []equity.Company, missing []string) {
	found := map[string]bool{}
	for _, c := range all {
		if equity.IsFund(c.CIK) {
			continue
		}
		take := len(chosen) < u.Top || slices.Contains(u.CIKs, c.CIK)
		found[c.CIK.String()] = true
		for _, l := range c.Listings {
			found[l.Ticker] = true
			take = take || slices.Contains(u.Tickers, l.Ticker)
		}
		if take {
			chosen = append(chosen, c)
		}
	}
	for _, id := range u.CIKs {
		if !found[id.String()] {
			missing = append(missing, id.String())
		}
	}
	for _, t := range u.Tickers {
		if !found[t] {
			missing = append(missing, t)
		}
	}
	return chosen, missing
}

// Newcomers are the chosen companies of a list that are not followed yet. missing names the companies of the universe that are not in the
// list.
func (u Universe) Newcomers(list []equity.Company, known Known) (newcomers []equity.Company, missing []string) {
	chosen, missing := u.Choose(list)
	return slices.DeleteFunc(chosen, func(c equity.Company) bool { _, old := known[c.CIK]; return old }), missing
}
