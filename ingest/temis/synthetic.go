package temis

import (
	"math"
	"time"

	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// regionModel describes a region's air, set by eye to the instrument's measurements over such places. None of it is a fit.
type regionModel struct {
	// level is the mean column in umol/m2 of 2019, swing how far winters are above the year's mean, as a logarithm.
	level, swing float64
	// trend is the yearly change, as a logarithm.
	trend float64
	// shut is the reduction by the lockdowns of 2020, as a logarithm, from their first month to the last.
	shut        float64
	first, last time.Month
	// clouds is the share of cells that a usual month leaves undefined.
	clouds float64
}

var habits = map[series.ID]regionModel{
	"temis.NO2.yangtze":      {130, 0.45, -0.012, 0.45, time.February, time.March, 0.05},
	"temis.NO2.pearl":        {105, 0.30, -0.01, 0.35, time.February, time.March, 0.12},
	"temis.NO2.benelux_ruhr": {95, 0.25, -0.015, 0.30, time.March, time.May, 0.14},
	"temis.NO2.po":           {110, 0.50, -0.01, 0.35, time.March, time.May, 0.06},
	"temis.NO2.delhi":        {110, 0.20, 0.005, 0.50, time.April, time.May, 0.08},
	"temis.NO2.tokyo":        {105, 0.30, -0.008, 0.20, time.April, time.May, 0.08},
	"temis.NO2.houston":      {60, 0.25, -0.01, 0.20, time.April, time.May, 0.05},
	"temis.NO2.new_york":     {90, 0.35, -0.015, 0.30, time.April, time.June, 0.10},
}

// productVersion is the version that the sandbox's grids state.
const productVersion = "2.4"

// no2Field is the drawn air of all regions.
type no2Field struct {
	world  synth.World
	levels []*synth.Series // in the order of regions
	clouds []synth.Noise
	late   synth.Noise
}

func draw(w synth.World) *no2Field {
	a := &no2Field{world: w, late: w.Noise("temis release")}
	months := synth.Months(firstMonth)
	// Trade and weather move the regions together a little.
	shared := w.Series(synth.Process{Name: "temis economy", Calendar: months, Reversion: 0.1, Volatility: 0.02, Decimals: -1})
	for _, r := range regions {
		h := habits[r.id]
		season := synth.Yearly(h.swing, time.January, 10)
		own := w.Series(synth.Process{
			Name: string(r.id), Calendar: months, Reversion: 0.7, Volatility: 0.1, Decimals: -1,
			Season: func(month time.Time) float64 {
				v := season(month) + h.trend*month.Sub(firstMonth).Hours()/(24*365.25)
				if month.Year() == 2020 && month.Month() >= h.first && month.Month() <= h.last {
					v -= h.shut
				}
				return v
			},
		})
		a.levels = append(a.levels, synth.Combine(func(_ time.Time, v []float64) float64 {
			return h.level * math.Exp(v[0]+v[1])
		}, shared, own))
		a.clouds = append(a.clouds, w.Noise("temis clouds "+string(r.id)))
	}
	return a
}

// released is when the sandbox shows a month: in the morning of one of the 12th to the 22nd of the following month.
func (a *no2Field) released(month time.Time) time.Time {
	return time.Date(month.Year(), month.Month()+1, 12+int(11*a.late.Uniform(month)), 9, 0, 0, 0, time.UTC)
}

// grid draws the grid of a month: each region a patch that is dirtiest in its middle, grainy, and with holes where clouds stayed.
func (a *no2Field) grid(month time.Time) Grid {
	noise := a.world.Noise("temis cells of " + month.Format("2006-01"))
	holes := a.world.Noise("temis holes of " + month.Format("2006-01"))
	patches := make([]patch, len(regions))
	for i, r := range regions {
		points := a.levels[i].Until(month)
		patches[i] = newPatch(r, points[len(points)-1].Value/molesPerUnit)
		// Most months are near the usual share of holes; about every thirtieth is lost under clouds.
		patches[i].holes = habits[r.id].clouds * (0.5 + a.clouds[i].Uniform(month))
		if a.clouds[i].Chance(month, 1.0/30) {
			patches[i].holes = 0.55
		}
	}
	return Grid{Month: month, Version: productVersion, Cell: func(row, column int) int {
		// One draw for each cell: the tables are of days, and a cell has a number like a day.
		cell := time.Unix(int64(row*gridColumns+column)*24*60*60, 0)
		for i := range patches {
			if p := &patches[i]; p.has(row, column) {
				if holes.Chance(cell, p.holes) {
					return undefined
				}
				v := p.level(row, column)*(1+0.08*noise.Normal(cell)) + 3*noise.Normal(cell)
				return min(max(int(math.Round(v)), undefined+1), 9999)
			}
		}
		return undefined
	}}
}

// patch is a region of a grid with its level in the grid's unit.
type patch struct {
	top, bottom, left, right int
	mean, scale, holes       float64
}

func newPatch(r region, level float64) patch {
	p := patch{mean: level, scale: 1}
	p.bottom, p.top = r.rows()
	p.left, p.right = r.columns()
	var sum, weights float64
	for row := p.bottom; row < p.top; row++ {
		weight := math.Cos(latitude(row) * math.Pi / 180)
		for column := p.left; column < p.right; column++ {
			sum += weight * p.shape(row, column)
			weights += weight
		}
	}
	p.scale = weights / sum
	return p
}

func (p *patch) has(row, column int) bool {
	return row >= p.bottom && row < p.top && column >= p.left && column < p.right
}

// shape falls from 1 in the middle to about a fifth in the corners.
func (p *patch) shape(row, column int) float64 {
	y := 2*float64(row-p.bottom)/float64(p.top-p.bottom) - 1
	x := 2*float64(column-p.left)/float64(p.right-p.left) - 1
	return 0.1 + 0.9*math.Exp(-(x*x+y*y))
}

func (p *patch) level(row, column int) float64 { return p.mean * p.scale * p.shape(row, column) }
