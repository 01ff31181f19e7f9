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

// PublicationMeta is what has to be said about an answer of the Picks API itself.
type PublicationMeta struct {
	// AsOf is when the newest of the data became known; null where there is none.
	AsOf        *time.Time `json:"as_of"`
	Environment string     `json:"environment"`
	Disclaimer  string     `json:"disclaimer"`
}

// ListQuery says which part of a list is wanted, and in which form. A list reads the fields that concern it. The zero value asks for all
// of it as JSON, in the language that is zero: none.
type ListQuery struct {
	// Format is FormatJSON, FormatCSV or FormatNDJSON.
	Format string
	// Limit is the size of a page; 0: all there is.
	Limit int
	// Cursor is where the page before ended, empty for the first. After is a place in a feed: only what is newer is listed.
	Cursor, After string
	// From and To are dates, YYYY-MM-DD, both included.
	From, To string
	// Since is an instant: only what was recorded after it is listed.
	Since                  time.Time
	Ticker, Sector, Region string
	MinSeverity            int
	// Status is "open" or "closed".
	Status string
	// Picked lists only the companies that were picked.
	Picked bool
	Lang   picks.Lang
	// Free is the view of the Free plan.
	Free bool
}

// within tells whether a date lies between From and To.
func (q ListQuery) within(date string) bool {
	return (q.From == "" || date >= q.From) && (q.To == "" || date <= q.To)
}

// about tells whether a row of a company is wanted.
func (q ListQuery) about(ticker, sector, region string) bool {
	return (q.Ticker == "" || strings.EqualFold(q.Ticker, ticker)) && (q.Sector == "" || strings.EqualFold(q.Sector, sector)) &&
		(q.Region == "" || strings.EqualFold(q.Region, region))
}

// ErrCursor: the cursor is not one of the list in this order.
var ErrCursor = errors.New("the cursor is not one of this list")

// listing is how rows become answers. The rows ascend by their keys, which name the order together with its name.
type listing[R, S any] struct {
	order string
	rows  []R
	key   func(R) string
	keep  func(R) bool
	show  func(R) S
	meta  PublicationMeta
	// modified is when the newest of it became known, zero where nothing is.
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

// part returns a part of the list, and the cursor of the next one, empty where there is none.
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

// page answers with a part of the list, and with the cursor of the next page, empty where there is none.
func (l listing[R, S]) page(q ListQuery, pagination func(Pagination) any) (*Document, string, error) {
	shown, next, err := l.part(q)
	if err != nil {
		return nil, "", err
	}
	var body []byte
	switch q.Format {
	case FormatCSV:
		body = csvOf(shown)
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
	return NewDocument(formatTypes[q.format()], CachePublic, body, l.modified), next, nil
}

func (q ListQuery) format() string {
	if q.Format == "" {
		return FormatJSON
	}
	return q.Format
}

// canonicalQuery leaves a pagination as it is.
func canonicalQuery(p Pagination) any { return p }

// A place in a list is written as its order and its key, as text in base64.

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

// one is an answer about one thing.
func one(data any, meta PublicationMeta, modified time.Time) (*Document, error) {
	body, err := Encode(One[any]{data, meta})
	if err != nil {
		return nil, err
	}
	return NewDocument(TypeJSON, CachePublic, body, modified), nil
}

// name is the query as text: equal queries have one name.
func (q ListQuery) name() string {
	text, err := json.Marshal(q)
	if err != nil { // strings, numbers and an instant that was parsed
		panic(err)
	}
	return string(text)
}
