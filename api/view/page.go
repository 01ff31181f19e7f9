package view

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"tidemark/picks"
)

// PublicationMeta is the metadata of a response of the Picks API.
type PublicationMeta struct {
	// AsOf is when the newest of the data became known; null if there are no data.
	AsOf        *time.Time `json:"as_of"`
	Environment string     `json:"environment"`
	Disclaimer  string     `json:"disclaimer"`
}

// ListQuery selects a part of a list and its format. Each list reads only the fields that apply to it. The zero value selects everything as
// JSON, without a language.
type ListQuery struct {
	// Format is one of Formats.
	Format string
	// Limit is the size of a page. 0 means no limit.
	Limit int
	// Cursor is the end of the previous page, empty for the first page. After is a position in a feed: the list contains only newer rows.
	Cursor, After string
	// From and To are dates, YYYY-MM-DD, both inclusive.
	From, To string
	// Since is an instant. The list contains only rows that were recorded after it.
	Since                  time.Time
	Ticker, Sector, Region string
	// MinSeverity and MaxSeverity are bounds of the severity, both inclusive. 0 means no bound.
	MinSeverity, MaxSeverity int
	// Status is "open" or "closed".
	Status string
	// Picked lists only companies that were picked.
	Picked bool
	Lang   picks.Lang
	// Free selects the view of the Free plan.
	Free bool
}

// within reports whether a date lies between From and To, inclusive.
func (q ListQuery) within(date string) bool {
	return (q.From == "" || date >= q.From) && (q.To == "" || date <= q.To)
}

// about reports whether a row of a company matches the query.
func (q ListQuery) about(ticker, sector, region string) bool {
	return (q.Ticker == "" || strings.EqualFold(q.Ticker, ticker)) && (q.Sector == "" || strings.EqualFold(q.Sector, sector)) &&
		(q.Region == "" || strings.EqualFold(q.Region, region))
}

// ErrCursor: the cursor does not belong to this list in this order.
var ErrCursor = errors.New("the cursor is not one of this list")

// listing turns rows into responses. The rows ascend by their keys. order is the name of that order.
type listing[R, S any] struct {
	order string
	rows  []R
	key   func(R) string
	keep  func(R) bool
	show  func(R) S
	meta  PublicationMeta
	// modified is when the newest row became known, or zero if there are no rows.
	modified time.Time
}

// List is a list as JSON. P is its pagination.
type List[S, P any] struct {
	Data       []S             `json:"data"`
	Meta       PublicationMeta `json:"meta"`
	Pagination P               `json:"pagination"`
}

// One is an answer about one thing as JSON.
type One[T any] struct {
	Data T               `json:"data"`
	Meta PublicationMeta `json:"meta"`
}

// part returns a part of the list, and the cursor of the next part, empty if this is the last.
func (l listing[R, S]) part(q ListQuery) (shown []S, next string, err error) {
	from := 0
	if q.Cursor != "" {
		last, err := decodePlace(q.Cursor, l.order)
		if err != nil {
			return nil, "", err
		}
		from = sort.Search(len(l.rows), func(i int) bool { return l.key(l.rows[i]) > last })
	}
	shown = []S{}
	last := ""
	for _, r := range l.rows[from:] {
		if !l.keep(r) {
			continue
		}
		if q.Limit > 0 && len(shown) == q.Limit {
			return shown, encodePlace(l.order, last), nil
		}
		shown, last = append(shown, l.show(r)), l.key(r)
	}
	return shown, "", nil
}

// page returns a part of the list as a document, and the cursor of the next page, empty if this is the last.
func (l listing[R, S]) page(q ListQuery, pagination func(Pagination) any) (*Document, string, error) {
	shown, next, err := l.part(q)
	if err != nil {
		return nil, "", err
	}
	var body []byte
	switch q.Format {
	case FormatCSV:
		body = csvOf(shown)
	case FormatParquet, FormatArrow:
		body, err = columnarOf(q.Format, shown, aboutTable(l.meta.Environment, l.meta.Disclaimer))
	case FormatNDJSON:
		for _, s := range shown {
			line, lerr := Encode(s)
			body, err = append(body, line...), errors.Join(err, lerr)
		}
	default:
		p := Pagination{HasMore: next != ""}
		if q.Limit > 0 {
			p.Limit = &q.Limit
		}
		if next != "" {
			p.NextCursor = &next
		}
		body, err = Encode(List[S, any]{Data: shown, Meta: l.meta, Pagination: pagination(p)})
	}
	if err != nil {
		return nil, "", err
	}
	return newFile(q.format(), body, l.modified), next, nil
}

func (q ListQuery) format() string {
	if q.Format == "" {
		return FormatJSON
	}
	return q.Format
}

// canonicalQuery returns the pagination unchanged.
func canonicalQuery(p Pagination) any { return p }

// A position in a list is the base64 text of its order and its key.

func encodePlace(order, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(order + "\n" + key))
}

func decodePlace(cursor, order string) (key string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrCursor, err)
	}
	key, ok := strings.CutPrefix(string(text), order+"\n")
	if !ok || encodePlace(order, key) != cursor {
		return "", ErrCursor
	}
	return key, nil
}

// one returns a response with a single object.
func one(data any, meta PublicationMeta, modified time.Time) (*Document, error) {
	body, err := Encode(One[any]{data, meta})
	if err != nil {
		return nil, err
	}
	return NewDocument(TypeJSON, CachePublic, body, modified), nil
}

// name returns the query as text. Equal queries have equal names.
func (q ListQuery) name() string {
	text, err := json.Marshal(q)
	if err != nil { // only strings, numbers and a valid instant
		panic(err)
	}
	return string(text)
}
