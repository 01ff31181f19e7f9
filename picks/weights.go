package picks

import (
	"cmp"
	"math"
	"slices"
)

// Hundredths are the shares of values in their sum, in hundredths of a percent, that add up to exactly 10,000. Each is rounded down, and
// the rest goes to the values with the largest remainders (the method of Hamilton), with ties to the earlier. Values must not be
// negative. If the sum is zero, all shares are zero.
func Hundredths(values []float64) []int {
	shares := make([]int, len(values))
	total := 0.0
	for _, v := range values {
		total += v
	}
	if !(total > 0) {
		return shares
	}
	left := 10_000
	order := make([]int, len(values))
	rest := make([]float64, len(values))
	for i, v := range values {
		exact := v / total * 10_000
		shares[i] = int(math.Floor(exact))
		rest[i] = exact - math.Floor(exact)
		left -= shares[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for k := range left {
		shares[order[k%len(order)]]++
	}
	return shares
}

// CashRow is the name of the row of cash in the lists of sectors and regions.
const CashRow = "Cash"

// SectorWeight is one sector's part of the portfolio, or the cash.
type SectorWeight struct {
	Sector    string
	WeightPct float64
	Positions int
	// ReturnPct is the mean return of the open positions since they were bought, by their weights; NaN for cash. Not rounded.
	ReturnPct float64
}

// RegionWeight is one region's part of the portfolio, or the cash.
type RegionWeight struct {
	Region    string
	WeightPct float64
	Positions int
	Countries []CountryWeight
	// ReturnPct as in SectorWeight.
	ReturnPct float64
}

// CountryWeight is one country's part of the portfolio. Country is an ISO code, empty when unknown.
type CountryWeight struct {
	Country   string
	WeightPct float64
}

// part adds up positions.
type part struct {
	weight, positions int // weight in hundredths
	weighted          float64
	simple            float64
}

func (p *part) add(q Position) {
	w := hundredths(q.WeightPct)
	p.weight += w
	p.positions++
	p.weighted += float64(float64(w) * q.ReturnPct)
	p.simple += q.ReturnPct
}

// mean is the mean return by weight; of positions too small to have a weight, the plain mean.
func (p *part) mean() float64 {
	if p.weight == 0 {
		return p.simple / float64(p.positions)
	}
	return p.weighted / float64(p.weight)
}

// hundredths is a rounded percentage as a whole number of hundredths.
func hundredths(pct float64) int { return int(math.Round(pct * 100)) }

// Sectors are the weights by sector, the largest first, cash last. They add up to exactly 100.
func (p Portfolio) Sectors() []SectorWeight {
	keys, parts := gather(p.Positions, func(q Position) string { return string(q.Sector) })
	var rows []SectorWeight
	for _, k := range keys {
		rows = append(rows, SectorWeight{k, float64(parts[k].weight) / 100, parts[k].positions, parts[k].mean()})
	}
	return append(rows, SectorWeight{CashRow, p.CashPct, 0, math.NaN()})
}

// Regions are the weights by region, the largest first, cash last. They add up to exactly 100, and the countries of a region to the
// region's.
func (p Portfolio) Regions() []RegionWeight {
	keys, parts := gather(p.Positions, func(q Position) string { return string(q.Region) })
	var rows []RegionWeight
	for _, k := range keys {
		row := RegionWeight{Region: k, WeightPct: float64(parts[k].weight) / 100, Positions: parts[k].positions, ReturnPct: parts[k].mean()}
		inside := slices.DeleteFunc(slices.Clone(p.Positions), func(q Position) bool { return string(q.Region) != k })
		countries, weights := gather(inside, func(q Position) string { return q.Country })
		for _, c := range countries {
			row.Countries = append(row.Countries, CountryWeight{c, float64(weights[c].weight) / 100})
		}
		rows = append(rows, row)
	}
	return append(rows, RegionWeight{Region: CashRow, WeightPct: p.CashPct, ReturnPct: math.NaN()})
}

// gather adds up the open positions by a key; the keys by falling weight, then by name.
func gather(positions []Position, key func(Position) string) ([]string, map[string]*part) {
	parts := map[string]*part{}
	var keys []string
	for _, q := range positions {
		if !q.Open() {
			continue
		}
		k := key(q)
		if parts[k] == nil {
			parts[k] = &part{}
			keys = append(keys, k)
		}
		parts[k].add(q)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(parts[b].weight, parts[a].weight), cmp.Compare(a, b)) })
	return keys, parts
}
