package eia

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// tableCell is a cell of a history page, and tag a tag within one. classOf is the class of a cell.
var (
	tableCell = regexp.MustCompile(`(?is)<td\b([^>]*)>(.*?)</td\s*>`)
	tag       = regexp.MustCompile(`<[^>]*>`)
	classOf   = regexp.MustCompile(`(?i)\bclass\s*=\s*["']?(\w+)`)
	// blank is white space at the ends of a cell.
	blank = regexp.MustCompile(`^(?:\s|&nbsp;|&#160;|\x{a0})+|(?:\s|&nbsp;|&#160;|\x{a0})+$`)
)

// locate finds the cell of a history page. It ignores responses of the API: their requests hold a key, so readers are not shown them.
func (g group) locate(r ingest.Response, id series.ID, observedAt time.Time) (place ingest.Place, found bool) {
	u, err := url.Parse(r.Request.URL)
	if err != nil || u.Host != pageHost || u.Path != pagePath {
		return ingest.Place{}, false
	}
	h, err := g.history(u.Query().Get("s"))
	if err != nil || h.series() != id {
		return ingest.Place{}, false
	}
	body := string(r.Body)
	if !utf8.ValidString(body) { // Windows-1252, in which this byte is a hard blank
		body = strings.ReplaceAll(body, "\xa0", " ")
	}
	var rows []row
	for _, m := range tableCell.FindAllStringSubmatchIndex(body, -1) {
		class := classOf.FindStringSubmatch(body[m[2]:m[3]])
		if class == nil {
			continue
		}
		c := cell{class: class[1], text: clean(html.UnescapeString(tag.ReplaceAllString(body[m[4]:m[5]], "")))}
		c.at, c.length = within(body, m[4], m[5])
		switch {
		case c.class == "B6":
			rows = append(rows, row{head: c.text})
		case len(rows) > 0:
			last := &rows[len(rows)-1]
			last.cells = append(last.cells, c)
		}
	}
	for _, r := range rows {
		if !rowLike.MatchString(r.head) {
			continue
		}
		_ = g.rowReader()(r, func(day time.Time, c cell) error { // an invalid row has no value to find
			if day.Equal(observedAt) && c.length > 0 {
				place, found = ingest.Place{Offset: c.at, Length: c.length, Where: fmt.Sprintf("row %q of the table", r.head)}, true
			}
			return nil
		})
		if found {
			break
		}
	}
	return place, found
}

// within is the part of a cell from one offset to another that is neither blank nor a tag.
func within(body string, from, to int) (at, length int) {
	text := body[from:to]
	for {
		lead := len(text)
		if m := blank.FindStringIndex(text); m != nil && m[0] == 0 {
			text = text[m[1]:]
		}
		if strings.HasPrefix(text, "<") {
			text = text[strings.IndexByte(text, '>')+1:]
		}
		from += lead - len(text)
		if lead == len(text) {
			break
		}
	}
	if end := strings.IndexByte(text, '<'); end >= 0 {
		text = text[:end]
	}
	text = strings.TrimRight(blank.ReplaceAllString(text, ""), " ")
	return from, len(text)
}
