package picks

import (
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"tidemark/signals"
)

func TestSectorsOfWellKnownCompanies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		company  string
		sic      int
		industry string
		want     Sector
	}{
		{"Apple", 3571, "computers", Technology},
		{"Microsoft", 7372, "software", Technology},
		{"Nvidia", 3674, "semiconductors", Technology},
		{"Procter & Gamble", 2840, "household_products", EverydayGoods},
		{"Nike, whose code is rubber footwear", 3021, "apparel", EverydayGoods},
		{"Coca-Cola", 2086, "beverages", EverydayGoods},
		{"Pfizer", 2834, "medicines", HealthCare},
		{"UnitedHealth, a plan and not a life insurer", 6324, "health_plans", HealthCare},
		{"Abbott's devices", 3845, "medical_devices", HealthCare},
		{"Exxon", 2911, "refining", Energy},
		{"ConocoPhillips", 1311, "oil_gas", Energy},
		{"Schlumberger", 1389, "oil_services", Energy},
		{"Newmont", 1040, "gold", Materials},
		{"CF Industries", 2870, "fertilizers", Chemicals},
		{"Caterpillar", 3531, "machinery", Industry},
		{"Deere", 3523, "farm_machinery", Industry},
		{"Boeing", 3721, "aerospace", Industry},
		{"Tesla", 3711, "cars", DurableGoods},
		{"Walmart", 5331, "general_stores", Trade},
		{"Amazon", 5961, "online_stores", Trade},
		{"McDonald's", 5812, "restaurants", Services},
		{"JPMorgan", 6021, "banks", Finance},
		{"a real estate trust", 6798, "property_trusts", RealEstate},
		{"a blank check company", 6770, "shells", Finance},
		{"Verizon", 4813, "telecoms", Communications},
		{"Comcast", 4841, "broadcasting", Communications},
		{"NextEra", 4911, "power", Utilities},
		{"Delta", 4512, "airlines", Transport},
		{"no code", 0, "other", OtherSector},
		{"a government", 9999, "other", OtherSector},
	} {
		if got := industryOf(c.sic); got.id != c.industry || got.sector != c.want || SectorOf(c.sic) != c.want {
			t.Errorf("%s (%d): %s in %s, want %s in %s", c.company, c.sic, got.id, got.sector, c.industry, c.want)
		}
	}
}

func TestPlacesAreNotISOCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		location, country string
		region            Region
	}{
		{"CA", "US", NorthAmerica}, // California
		{"DE", "US", NorthAmerica}, // Delaware
		{"IL", "US", NorthAmerica}, // Illinois
		{"A6", "CA", NorthAmerica}, // Ontario
		{"Z4", "CA", NorthAmerica},
		{"L2", "IE", Europe},
		{"L3", "IL", MiddleEast},
		{"M0", "JP", AsiaPacific},
		{"F4", "CN", AsiaPacific},
		{"K3", "HK", AsiaPacific},
		{"F5", "TW", AsiaPacific},
		{"M5", "KR", AsiaPacific},
		{"P7", "NL", Europe},
		{"2M", "DE", Europe},
		{"V8", "CH", Europe},
		{"X0", "GB", Europe},
		{"N4", "LU", Europe},
		{"E9", "KY", LatinAmerica},
		{"D5", "BR", LatinAmerica},
		{"O5", "MX", LatinAmerica},
		{"D0", "BM", NorthAmerica},
		{"T3", "ZA", MiddleEast},
		{"l2", "IE", Europe},
		{"", "", OtherRegion},
		{"XX", "", OtherRegion},
	} {
		if country, region := CountryOf(c.location), RegionOf(c.location); country != c.country || region != c.region {
			t.Errorf("%q is %q in %s, want %q in %s", c.location, country, region, c.country, c.region)
		}
	}
}

func TestEveryPlaceIsARealCountryOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	fields := len(strings.Fields(unitedStates)) + len(strings.Fields(canada))
	for _, pairs := range edgarCountries {
		fields += len(strings.Fields(pairs))
	}
	if len(places()) != fields {
		t.Errorf("%d codes in the lists, %d in the table: one stands twice", fields, len(places()))
	}
	for code, p := range places() {
		if r, err := language.ParseRegion(p.country); err != nil || !r.IsCountry() || r.String() != p.country {
			t.Errorf("%s is %q, which is no country: %v", code, p.country, err)
		}
		if p.country == "US" || p.country == "CA" {
			continue
		}
		if other := seen[p.country]; other != "" {
			t.Errorf("%s and %s are both %s", code, other, p.country)
		}
		seen[p.country] = code
	}
}

func TestASignalTiltsAScoreOnlyWhereATestShowsItAndLittle(t *testing.T) {
	t.Parallel()
	live := func(id string, z float64) SignalState { return SignalState{ID: id, Z: z, Live: true} }
	for _, c := range []struct {
		name   string
		sic    int
		states []SignalState
		want   float64
	}{
		{"a refiner gains from a wide margin", 2911, []SignalState{live("crack-spread-321", 1)}, 0.05},
		{"an airline loses by it", 4512, []SignalState{live("crack-spread-321", 1)}, -0.05},
		{"a software maker is not exposed", 7372, []SignalState{live("crack-spread-321", 3)}, 0},
		{"an extreme counts as two", 2911, []SignalState{live("crack-spread-321", 9)}, 0.10},
		{"two signals that agree are capped together", 1311, []SignalState{live("eia-weekly-petroleum", -2), live("hormuz-transit", -2)}, 0.10},
		{"two that disagree cancel", 1311, []SignalState{live("eia-weekly-petroleum", -1), live("hormuz-transit", 1)}, 0},
		{"a decayed signal has no say", 2911, []SignalState{{ID: "crack-spread-321", Z: 2}}, 0},
		{"an unknown one has none", 2911, []SignalState{live("crack-spread-321", math.NaN())}, 0},
	} {
		rows := ExposuresOf(c.sic)
		if got := tiltOf(rows, c.states).Total; got != 0 {
			t.Errorf("%s: %v without a test that shows it, want none", c.name, got)
		}
		for i := range rows {
			rows[i].T = 2.1
		}
		if got := tiltOf(rows, c.states).Total; math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestExposuresNameOurSignals(t *testing.T) {
	t.Parallel()
	var ours []string
	for _, d := range signals.All() {
		ours = append(ours, d.ID)
	}
	for _, e := range Exposures() {
		if !slices.Contains(ours, e.Signal) || e.Sign*e.Sign != 1 || e.Reason == "" || e.First > e.Last {
			t.Errorf("a row that cannot be: %+v", e)
		}
		if e.T != 0 {
			t.Errorf("a row says that a test shows it: %+v; which one?", e)
		}
		if e.Signal == "tropomi-no2-economic" && industryOf(e.First).id == "gold" || e.First <= 1040 && e.Last >= 1049 {
			t.Errorf("the gold that is mined does not depend on industry: %+v", e)
		}
		if SectorOf(e.First) == OtherSector || SectorOf(e.First) != SectorOf(e.Last) {
			t.Errorf("%d to %d is no industry", e.First, e.Last)
		}
	}
	for _, id := range ours {
		if !slices.ContainsFunc(exposures, func(e Exposure) bool { return e.Signal == id }) {
			t.Errorf("nobody is exposed to %s", id)
		}
	}
}
