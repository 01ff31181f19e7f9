package nass

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// locate finds the row of a yield in the file of the web form. It ignores responses of the API: their requests hold a key, so readers are
// not shown them. An index of the crop's condition combines five rows, so no single place states it.
func locate(r ingest.Response, id series.ID, observedAt time.Time) (ingest.Place, bool) {
	u, err := url.Parse(r.Request.URL)
	if err != nil || u.Host != host || !strings.HasPrefix(u.Path, spreadsheetPath) || id != finalYield && id != forecast {
		return ingest.Place{}, false
	}
	period := "YEAR"
	if id == forecast {
		period = "YEAR - " + strings.ToUpper(observedAt.UTC().Format("Jan")) + " FORECAST"
	}
	want := map[string]string{
		"Program": "SURVEY", "Geo Level": "STATE", "State": "IOWA", "Domain": allFarms, "Data Item": yieldItem,
		"Year": strconv.Itoa(observedAt.UTC().Year()), "Period": period,
	}
	text := bytes.TrimPrefix(r.Body, []byte("\ufeff"))
	lines := csv.NewReader(bytes.NewReader(text))
	head, err := lines.Read()
	if err != nil {
		return ingest.Place{}, false
	}
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
	}
	column := slices.Index(head, "Value")
	for column >= 0 {
		from := int(lines.InputOffset())
		line, err := lines.Read()
		if err != nil {
			break
		}
		matched := 0
		for i, name := range head {
			if v, asked := want[name]; asked && line[i] == v {
				matched++
			}
		}
		if matched < len(want) {
			continue
		}
		number, start := lines.FieldPos(column)
		at := len(r.Body) - len(text) + from + start - 1 // the row begins a line: it holds no line feed
		if r.Body[at] == '"' {
			at++
		}
		value := line[column]
		at += len(value) - len(strings.TrimLeft(value, " "))
		return ingest.Place{Offset: at, Length: len(strings.TrimSpace(value)), Where: fmt.Sprintf("line %d, column Value", number)}, true
	}
	return ingest.Place{}, false
}
