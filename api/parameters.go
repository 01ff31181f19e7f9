package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/nearest"
)

// parameters parses the query of a request and collects its faults. A missing parameter has the zero value.
type parameters struct {
	values url.Values
	now    time.Time
	// known are the names that were read, which are the parameters of this path.
	known  []string
	faults []view.ParameterError
}

func (s *Server) parameters(r *http.Request) *parameters { return readParameters(r, s.view.Now()) }

func readParameters(r *http.Request, now time.Time) *parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := &parameters{values: values, now: now}
	if err != nil {
		p.fault("", "The query is not well formed.")
	}
	return p
}

func (p *parameters) fault(name, format string, args ...any) {
	p.faults = append(p.faults, view.ParameterError{Pointer: "/" + name, Detail: fmt.Sprintf(format, args...)})
}

// err returns the problem of all faults, or nil. Call it after all parameters were read: any other parameter in the query is a fault.
// Otherwise a mistyped as_of would return today's numbers.
func (p *parameters) err() error {
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(p.values)), func(name string) bool { return slices.Contains(p.known, name) || ofCaches(name) })
	for _, name := range unknown[:min(len(unknown), maxUnknown)] {
		name = strings.ToValidUTF8(name[:min(len(name), maxName)], "")
		if near := nearest.Of(name, p.known...); near != "" {
			p.fault(name, "%s is not a parameter of this address. Did you mean %s?", name, near)
		} else if len(p.known) == 0 {
			p.fault(name, "%s is not a parameter of this address, which has none.", name)
		} else {
			p.fault(name, "%s is not a parameter of this address, which has %s.", name, strings.Join(p.known, ", "))
		}
	}
	if len(p.faults) == 0 {
		return nil
	}
	return &problemError{code: view.CodeInvalidParameter, detail: p.faults[0].Detail, errors: p.faults}
}

// maxUnknown is how many unknown parameters a problem names. maxName is how many bytes of each name it shows.
const maxUnknown, maxName = 10, 64

// ofCaches reports whether clients or marketing campaigns append a parameter with this name to URLs. Such parameters have no meaning here.
func ofCaches(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "utm_")
}

func (p *parameters) text(name string) string {
	if !slices.Contains(p.known, name) {
		p.known = append(p.known, name)
	}
	given := p.values[name]
	if len(given) > 1 {
		p.fault(name, "%s is given %d times.", name, len(given))
	}
	if len(given) == 0 {
		return ""
	}
	if given[0] == "" {
		p.fault(name, "%s is empty.", name)
	}
	return given[0]
}

// one parses a parameter with a fixed set of values.
func (p *parameters) one(name, absent string, of ...string) string {
	switch v := p.text(name); {
	case v == "":
		return absent
	case slices.Contains(of, v):
		return v
	}
	p.fault(name, "%s can be %s.", name, strings.Join(of, " or "))
	return absent
}

// The default and the maximum size of a page.
const defaultLimit, maxLimit = 50, 500

// limit parses the page size. absent is the result if the request has none.
func (p *parameters) limit(absent int) int {
	text := p.text("limit")
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		p.fault("limit", "limit is not a whole number from 1 to %d.", maxLimit)
	}
	return n
}

// instant parses an RFC 3339 time or a day. A day means its first or last microsecond in UTC.
func (p *parameters) instant(name string, last bool) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	day, err := time.Parse(time.DateOnly, text)
	if err == nil {
		if last {
			day = day.AddDate(0, 0, 1).Add(-time.Microsecond)
		}
		return day
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		p.fault(name, "%s is neither a date (2026-03-04) nor a time with its zone (2026-03-04T10:30:00Z); a plus sign in a query is written %%2B.", name)
		return time.Time{}
	}
	return at.UTC().Truncate(time.Microsecond)
}

// within parses the range of instants from "from" to "to", both inclusive.
func (p *parameters) within() (from, to time.Time) {
	from, to = p.instant("from", false), p.instant("to", true)
	if !from.IsZero() && !to.IsZero() && to.Before(from) {
		p.fault("to", "to is before from.")
	}
	return from, to
}

// asOf parses an instant in the past, because only the past no longer changes. A day means its end.
func (p *parameters) asOf() time.Time {
	at := p.instant("as_of", true)
	if at.After(p.now) {
		p.fault("as_of", "as_of is in the future: here it is %s. A date counts to the end of its day, in UTC.", p.now.UTC().Format(time.RFC3339))
	}
	return at
}
