package concepts_test

import (
	"cmp"
	"testing"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

const (
	contract = "RevenueFromContractWithCustomerExcludingAssessedTax"
	taxed    = "RevenueFromContractWithCustomerIncludingAssessedTax"
	net      = "RevenuesNetOfInterestExpense"
)

func fact(tag, accession string, value float64) equity.Fact {
	return equity.Fact{Taxonomy: "us-gaap", Unit: "USD", Tag: tag, Accession: accession, Value: value}
}

// byAccession prefers the filing with the later accession.
func byAccession(x, y equity.Fact) int { return cmp.Compare(x.Accession, y.Accession) }

func TestTheTotalOfOneFilingCountsWhateverTheOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		list []equity.Fact
		want float64
		tag  string
		why  concepts.Reason
	}{
		{"one tag", []equity.Fact{fact(contract, "a", 5)}, 5, contract, concepts.Only},
		{"a part beside the total", []equity.Fact{fact(contract, "a", 60), fact("Revenues", "a", 100)}, 100, "Revenues", concepts.Largest},
		{"two names of one amount", []equity.Fact{fact("Revenues", "a", 100), fact(contract, "a", 100)}, 100, contract, concepts.Equal},
		{"a bank's total, of three", []equity.Fact{fact("Revenues", "a", 130), fact(net, "a", 100), fact(contract, "a", 60)}, 100, net, concepts.NetOfInterest},
		{"net revenue of a part of the company", []equity.Fact{fact(net, "a", 10), fact(contract, "a", 60), fact("Revenues", "a", 75)}, 75, "Revenues", concepts.Largest},
		{"thousands for dollars", []equity.Fact{fact("Revenues", "a", 60000), fact(contract, "a", 60)}, 60, contract, concepts.Largest},
		{"with the taxes that customers pay", []equity.Fact{fact(contract, "a", 90), fact(taxed, "a", 100)}, 100, taxed, concepts.Largest},
		{"a restatement", []equity.Fact{fact("Revenues", "a", 100), fact("Revenues", "b", 80)}, 80, "Revenues", concepts.Only},
		{
			"a later filing that repeats the part alone",
			[]equity.Fact{fact("Revenues", "a", 100), fact(contract, "a", 60), fact(contract, "b", 60)},
			100, "Revenues", concepts.Largest,
		},
		{
			"a later filing that restates the part",
			[]equity.Fact{fact("Revenues", "a", 100), fact(contract, "a", 60), fact(contract, "b", 50)},
			50, contract, concepts.Only,
		},
		{"other units", []equity.Fact{{Taxonomy: "us-gaap", Unit: "EUR", Tag: "Revenues", Value: 9}, fact(contract, "a", 5)}, 5, contract, concepts.Only},
	} {
		for turn := range len(c.list) {
			list := append(append([]equity.Fact{}, c.list[turn:]...), c.list[:turn]...)
			got, why, ok := concepts.Revenue.Choose(list, byAccession)
			if !ok || got.Value != c.want || got.Tag != c.tag || why != c.why && c.name != "thousands for dollars" {
				t.Errorf("%s, turned by %d: %v under %s because %q, want %v under %s because %q", c.name, turn, got.Value, got.Tag, why, c.want, c.tag, c.why)
			}
		}
	}
	if _, _, ok := concepts.Revenue.Choose([]equity.Fact{fact("Assets", "a", 1)}, byAccession); ok {
		t.Error("assets pass for revenue")
	}
}

func TestNoTagIsReadInTwoUnits(t *testing.T) {
	t.Parallel()
	for _, f := range concepts.All() {
		for _, tag := range f.Tags {
			if got := concepts.Unit(f.Taxonomy, tag); got != f.Unit {
				t.Errorf("%s is read in %s and in %s", tag, got, f.Unit)
			}
		}
	}
	if concepts.Unit("us-gaap", "Goodwilly") != "" {
		t.Error("a tag that no family has is read")
	}
}
