package edgar

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/concepts"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const factsPath = "/api/xbrl/companyfacts/"

var factsFile = regexp.MustCompile(`^/api/xbrl/companyfacts/CIK([0-9]{10})\.json$`)

// Facts declares the figures that the companies of a universe stated in their reports, as XBRL tags them. Each company has one response
// with all figures since 2009. The parser keeps the tags of package concepts, from the forms in reports. The archive holds the rest of each
// response too. For a company that files no XBRL the status is 404, which is not a failure: it has no facts.
//
// Figures come minutes to a day after their filing, at times weeks. A fact has its unit and its taxonomy, so figures in another currency or
// by other rules than the United States' stay separate. The source has no cadence: a company is requested after it has filed a report.
func Facts(userAgent string, universe []equity.CIK) ingest.Source {
	return ingest.Source{
		ID: "edgar-facts", Name: "SEC EDGAR, figures of companies' reports", Publisher: publisher, License: license,
		HomeURL: "https://www.sec.gov/search-filings/edgar-application-programming-interfaces",
		Limits:  jsonLimits(1),
		Request: func(series.Window) ([]ingest.Request, error) {
			list, err := each(universe, func(c equity.CIK) string {
				return "https://" + dataHost + factsPath + "CIK" + c.String() + ".json"
			})
			if err != nil {
				return nil, err
			}
			asked, err := requests(userAgent, list...)
			for i := range asked {
				asked[i].Absent = []int{http.StatusNotFound}
			}
			return asked, err
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			u, err := address(r, dataHost)
			if err != nil {
				return wrap("facts", ingest.Batch{}, err)
			}
			id, _, err := companyIn(u.Path, factsFile)
			if err != nil {
				return wrap("facts", ingest.Batch{}, err)
			}
			facts, err := parseFacts(r.Body, id)
			return wrap("the facts of "+id.String(), ingest.Batch{Facts: facts}, err)
		},
	}
}

// reports are the forms that are read. Others feed facts as well, proxy statements and current reports at times with figures a
// thousand times too large.
var reports = map[string]bool{
	"10-K": true, "10-K/A": true, "10-KT": true, "10-KT/A": true, "10-Q": true, "10-Q/A": true,
	"20-F": true, "20-F/A": true, "40-F": true, "40-F/A": true, "6-K": true,
}

// parseFacts reads the facts that are kept of an answer that holds all of a company's.
func parseFacts(body []byte, id equity.CIK) ([]equity.Fact, error) {
	p := factParser{company: id}
	var said cik
	found := false
	err := document(body, func(s stream, name string) error {
		switch name {
		case "cik":
			return s.value(name, &said)
		case "facts":
			found = true
			return s.object(func(taxonomy string) error { return p.taxonomy(s, taxonomy) })
		}
		return s.skip()
	})
	switch {
	case err != nil:
		return nil, err
	case equity.CIK(said) != id:
		return nil, fmt.Errorf("the answer is about the CIK %d", said)
	case !found:
		return nil, errors.New("no member facts")
	}
	return p.facts, nil
}

// factParser gathers the facts of a company.
type factParser struct {
	company equity.CIK
	facts   []equity.Fact
}

// taxonomy reads the tags of a taxonomy.
func (p *factParser) taxonomy(s stream, taxonomy string) error {
	if taxonomy != "us-gaap" && taxonomy != "dei" {
		return s.skip()
	}
	return s.object(func(tag string) error {
		wanted := concepts.Unit(taxonomy, tag)
		if wanted == "" {
			return s.skip()
		}
		return s.object(func(member string) error {
			if member != "units" {
				return s.skip()
			}
			return s.object(func(unit string) error {
				if !statedIn(wanted, unit) {
					return s.skip()
				}
				return p.values(s, equity.Fact{CIK: p.company, Taxonomy: taxonomy, Tag: tag, Unit: unit})
			})
		})
	})
}

// statedIn reports whether a tag that is read in one unit may be stated in another. Shares are in shares only. Dollars may be in any
// currency, because a company that reports in another one also has facts.
func statedIn(wanted, unit string) bool {
	if wanted != "USD" {
		return unit == wanted
	}
	if len(unit) != 3 { // currencies are of three letters
		return false
	}
	for i := range len(unit) {
		if unit[i] < 'A' || unit[i] > 'Z' {
			return false
		}
	}
	return true
}

// statement is a figure as stated in the response.
type statement struct {
	Start     string      `json:"start"`
	End       string      `json:"end"`
	Value     json.Number `json:"val"`
	Accession string      `json:"accn"`
	FY        *int        `json:"fy"`
	FP        string      `json:"fp"`
	Form      string      `json:"form"`
	Filed     string      `json:"filed"`
}

// values reads the figures of a tag in a unit. A figure whose period ends before it begins is the filer's mistake and left out. If one
// filing states several figures for one period, for example a rounded figure in its notes, the figure with the most digits is used. A cover
// that states several counts for one date counts several classes of shares: they are added.
func (p *factParser) values(s stream, f equity.Fact) error {
	type identity struct{ start, end, accession string }
	held := map[identity]int{}
	var list []statement
	if err := s.value(f.Tag+" in "+f.Unit, &list); err != nil {
		return err
	}
	for i, v := range list {
		if v.Form == "" {
			return fmt.Errorf("%s in %s, %d: no form", f.Tag, f.Unit, i)
		}
		if !reports[v.Form] {
			continue
		}
		if err := v.into(&f); err != nil {
			return fmt.Errorf("%s in %s, %d: %w", f.Tag, f.Unit, i, err)
		}
		if f.Start.After(f.End) {
			continue
		}
		id := identity{v.Start, v.End, v.Accession}
		if at, twice := held[id]; !twice {
			held[id] = len(p.facts)
			p.facts = append(p.facts, f)
		} else if f.Tag == coverCount && !rounds(f.Value, p.facts[at].Value) {
			p.facts[at].Value += f.Value // of another class
		} else if digits(f.Value) > digits(p.facts[at].Value) {
			p.facts[at] = f
		}
	}
	return nil
}

const coverCount = "EntityCommonStockSharesOutstanding"

// rounds reports whether two counts are one, rounded in different ways.
func rounds(x, y float64) bool { return math.Abs(x-y) <= 0.005*math.Max(x, y) }

// digits counts the digits of a number without its last zeros.
func digits(v float64) int {
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	return len(strings.Trim(mantissa, "-0."))
}

// into fills in a fact.
func (v statement) into(f *equity.Fact) error {
	var err error
	if f.Start, err = date(v.Start); err != nil {
		return fmt.Errorf("it begins on %.40q, want a date", v.Start)
	}
	if f.End, err = time.Parse(time.DateOnly, v.End); err != nil {
		return fmt.Errorf("it ends on %.40q, want a date", v.End)
	}
	if f.Filed, err = time.Parse(time.DateOnly, v.Filed); err != nil {
		return fmt.Errorf("it was filed on %.40q, want a date", v.Filed)
	}
	if f.Value, err = v.Value.Float64(); err != nil {
		return fmt.Errorf("the value is %.40q, want a number", v.Value)
	}
	if !accessionForm.MatchString(v.Accession) {
		return fmt.Errorf("the accession number is %.40q", v.Accession)
	}
	f.Accession, f.Form, f.FP, f.FY = v.Accession, v.Form, v.FP, 0
	if v.FY != nil {
		f.FY = *v.FY
	}
	return nil
}
