package portwatch

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

// Row is one feature of the layer with its attributes, in the service's order. Every number is a count of ships or, from
// CapacityContainer on, metric tons.
type Row struct {
	// Date is the day as text, such as 2026-06-28; Year, Month and Day are the same.
	Date              string  `json:"date"`
	Year              int     `json:"year"`
	Month             int     `json:"month"`
	Day               int     `json:"day"`
	PortID            string  `json:"portid"`
	PortName          string  `json:"portname"`
	Container         float64 `json:"n_container"`
	DryBulk           float64 `json:"n_dry_bulk"`
	GeneralCargo      float64 `json:"n_general_cargo"`
	RoRo              float64 `json:"n_roro"`
	Tanker            float64 `json:"n_tanker"`
	Cargo             float64 `json:"n_cargo"`
	Total             float64 `json:"n_total"`
	CapacityContainer float64 `json:"capacity_container"`
	CapacityDryBulk   float64 `json:"capacity_dry_bulk"`
	CapacityGeneral   float64 `json:"capacity_general_cargo"`
	CapacityRoRo      float64 `json:"capacity_roro"`
	CapacityTanker    float64 `json:"capacity_tanker"`
	CapacityCargo     float64 `json:"capacity_cargo"`
	Capacity          float64 `json:"capacity"`
	ObjectID          int     `json:"ObjectId"`
}

// NewRow returns a row of the Strait of Hormuz without figures.
func NewRow(day time.Time) Row {
	return Row{
		Date: day.Format(time.DateOnly), Year: day.Year(), Month: int(day.Month()), Day: day.Day(),
		PortID: chokepoint, PortName: "Strait of Hormuz",
	}
}

// field is the service's description of an attribute.
type field struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// fields are the fields of Row.
var fields = []field{
	{"date", "esriFieldTypeDateOnly"},
	{"year", "esriFieldTypeInteger"},
	{"month", "esriFieldTypeInteger"},
	{"day", "esriFieldTypeInteger"},
	{"portid", "esriFieldTypeString"},
	{"portname", "esriFieldTypeString"},
	{"n_container", "esriFieldTypeInteger"},
	{"n_dry_bulk", "esriFieldTypeInteger"},
	{"n_general_cargo", "esriFieldTypeInteger"},
	{"n_roro", "esriFieldTypeInteger"},
	{"n_tanker", "esriFieldTypeInteger"},
	{"n_cargo", "esriFieldTypeInteger"},
	{"n_total", "esriFieldTypeInteger"},
	{"capacity_container", "esriFieldTypeDouble"},
	{"capacity_dry_bulk", "esriFieldTypeDouble"},
	{"capacity_general_cargo", "esriFieldTypeDouble"},
	{"capacity_roro", "esriFieldTypeDouble"},
	{"capacity_tanker", "esriFieldTypeDouble"},
	{"capacity_cargo", "esriFieldTypeDouble"},
	{"capacity", "esriFieldTypeDouble"},
	{"ObjectId", "esriFieldTypeOID"},
}

// The members of the service's responses. Note is an addition: it names the maker of a synthetic response.
type (
	countAnswer struct {
		Count int    `json:"count"`
		Note  string `json:"note,omitempty"`
	}
	pageAnswer struct {
		ObjectIDField string    `json:"objectIdFieldName"`
		Fields        []field   `json:"fields"`
		Exceeded      bool      `json:"exceededTransferLimit,omitempty"`
		Features      []feature `json:"features"`
		Note          string    `json:"note,omitempty"`
	}
	feature struct {
		Attributes Row `json:"attributes"`
	}
	errorAnswer struct {
		Error serviceError `json:"error"`
		Note  string       `json:"note,omitempty"`
	}
	serviceError struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Details []string `json:"details"`
	}
)

// onePort is the only condition that Answer understands.
var onePort = regexp.MustCompile(`^portid='([a-z0-9]+)'$`)

// Answer writes the service's response to a query if its layer held these rows, in the order of their days: the inverse of the parser. It
// supports the queries that the source sends. It answers others with an error as the service does, whose status is 200 all the same.
// Note, unless empty, names the maker of the response in an additional member.
func Answer(rows []Row, query url.Values, note string) []byte {
	return marshal(respond(rows, query, note))
}

func respond(rows []Row, query url.Values, note string) any {
	refuse := func(detail string) any {
		return errorAnswer{serviceError{400, "Cannot perform query. Invalid query parameters.", []string{detail}}, note}
	}
	port := onePort.FindStringSubmatch(query.Get("where"))
	switch {
	case query.Get("f") != "json":
		return refuse("'f' parameter is invalid: only json is supported")
	case port == nil:
		return refuse("'where' clause is invalid")
	}
	if port[1] != chokepoint {
		rows = nil
	}
	if query.Get("returnCountOnly") == "true" {
		return countAnswer{len(rows), note}
	}
	offset, length := 0, pageSize
	for name, into := range map[string]*int{"resultOffset": &offset, "resultRecordCount": &length} {
		if text := query.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return refuse(fmt.Sprintf("'%s' parameter is invalid", name))
			}
			*into = n
		}
	}
	switch {
	case query.Get("outFields") != "*":
		return refuse("'outFields' parameter is invalid: only * is supported")
	case query.Get("orderByFields") != "date ASC,ObjectId ASC":
		return refuse("'orderByFields' parameter is invalid: only date ASC,ObjectId ASC is supported")
	}
	rows = rows[min(offset, len(rows)):]
	page := pageAnswer{ObjectIDField: "ObjectId", Fields: fields, Features: []feature{}, Note: note}
	length = min(length, pageSize)
	if len(rows) > length {
		rows, page.Exceeded = rows[:length], true
	}
	for _, r := range rows {
		page.Features = append(page.Features, feature{r})
	}
	return page
}

func marshal(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil { // no number of a row is infinite or none
		return []byte(`{"error":{"code":500,"message":"Internal error.","details":[]}}`)
	}
	return body
}
