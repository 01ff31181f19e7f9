package temis

import (
	"math"

	"tidemark/internal/series"
)

// The grid: cells of an eighth of a degree, from south to north and from west to east.
const (
	gridRows    = 1440
	gridColumns = 2880
	gridStep    = 0.125
	firstLat    = -89.9375
	firstLon    = -179.9375
)

// region is a box of the grid: the cells whose centres lie in it.
type region struct {
	id    series.ID
	title string
	// The box in degrees; south and west are negative.
	south, north, west, east float64
}

// regions are fixed, regardless of the economy in them: another choice would be another series.
var regions = []region{
	{"temis.NO2.yangtze", "Yangtze delta, 30-33 N 118-122 E", 30, 33, 118, 122},
	{"temis.NO2.pearl", "Pearl River delta, 22-23.5 N 112.5-114.5 E", 22, 23.5, 112.5, 114.5},
	{"temis.NO2.benelux_ruhr", "Benelux and Ruhr, 50.5-52.5 N 3.5-8 E", 50.5, 52.5, 3.5, 8},
	{"temis.NO2.po", "Po valley, 44.5-46 N 8-12 E", 44.5, 46, 8, 12},
	{"temis.NO2.delhi", "Delhi, 28-29.2 N 76.5-78 E", 28, 29.2, 76.5, 78},
	{"temis.NO2.tokyo", "Tokyo bay, 35-36.2 N 139-140.5 E", 35, 36.2, 139, 140.5},
	{"temis.NO2.houston", "Houston, 29-30.5 N 96-94.5 W", 29, 30.5, -96, -94.5},
	{"temis.NO2.new_york", "New York, 40-41.5 N 75-73 W", 40, 41.5, -75, -73},
}

// rows are the first row of the region and the one after its last, columns its columns.
func (r region) rows() (from, to int)    { return cells(r.south, r.north, firstLat) }
func (r region) columns() (from, to int) { return cells(r.west, r.east, firstLon) }

func cells(low, high, first float64) (from, to int) {
	return int(math.Ceil((low - first) / gridStep)), int(math.Floor((high-first)/gridStep)) + 1
}

// latitude is the latitude of the centres of a row.
func latitude(row int) float64 { return firstLat + gridStep*float64(row) }

const (
	// molesPerUnit turns a value of the grid, in 1e13 molecules/cm2, into umol/m2: 1e15 molecules/cm2 are 16.605 umol/m2.
	molesPerUnit = 0.16605
	// enough is the share of a region's cells that must be defined, in per cent.
	enough = 60
	// markerUndefined is the marker of a region with fewer. The publisher's word for such a cell is "undef".
	markerUndefined = "undef"
)

// mean adds up the cells of a region, each weighted by its area, which goes with the cosine of its latitude.
type mean struct {
	sum, weights   float64
	defined, cells int
}

func (m *mean) add(value int, weight float64) {
	m.cells++
	if value == undefined {
		return
	}
	m.defined++
	m.sum += float64(weight * float64(value))
	m.weights += weight
}

// decimals is how many decimals a mean keeps. It is far beyond the precision of the grid's whole numbers. Two kinds of processors, whose
// cosines differ in the last bit, still read the same value.
const decimals = 9

// rounding is a difference that does not count as a revision: before, means were kept with four decimals.
const rounding = 0.0001

// value is the mean column in umol/m2, or not ok if too few cells are defined.
func (m *mean) value() (v float64, ok bool) {
	if m.cells == 0 || 100*m.defined < enough*m.cells {
		return 0, false
	}
	scale := math.Pow10(decimals)
	return math.Round(scale*molesPerUnit*m.sum/m.weights) / scale, true
}
