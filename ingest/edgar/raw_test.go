package edgar_test

import (
	"encoding/json"
	"testing"

	"tidemark/internal/equity"
)

// rawFacts reads every figure of a response in the plainest way, with any tag and form. The parser is compared with it.
func rawFacts(t testing.TB, body []byte, id equity.CIK) []equity.Fact {
	t.Helper()
	var answer struct {
		Facts map[string]map[string]struct {
			Units map[string][]struct {
				Start, End, Accn, Form, Filed string
				Val                           float64
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	var list []equity.Fact
	for taxonomy, tags := range answer.Facts {
		for tag, concept := range tags {
			for unit, values := range concept.Units {
				for _, v := range values {
					f := equity.Fact{CIK: id, Taxonomy: taxonomy, Tag: tag, Unit: unit, End: day(t, v.End), Value: v.Val, Accession: v.Accn, Form: v.Form, Filed: day(t, v.Filed)}
					if v.Start != "" {
						f.Start = day(t, v.Start)
					}
					list = append(list, f)
				}
			}
		}
	}
	return list
}
