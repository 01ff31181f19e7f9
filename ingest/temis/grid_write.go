package temis

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Grid is a grid to be written: the inverse of the parser.
type Grid struct {
	Month time.Time
	// Version is the version of the product, for example "2.4".
	Version string
	// Cell tells the value of a cell in 1e13 molecules/cm2, or Undefined. It is asked for the cells of the regions; all others
	// are undefined. Rows count from the south, columns from the west.
	Cell func(row, column int) int
}

// Undefined is the value of a cell without one.
const Undefined = undefined

// Gzip writes the grid, packed. It fails on a value that has no room in four characters.
//
// What lies south and north of all regions never changes. Those parts are packed once, and a grid is made of several packed parts,
// which unpack to one text.
func (g Grid) Gzip() ([]byte, error) {
	empty := emptyParts()
	var out bytes.Buffer
	if err := pack(&out, gzip.BestSpeed, g.head); err != nil {
		return nil, fmt.Errorf("write the grid of %s: %w", g.Month.Format("2006-01"), err)
	}
	out.Write(empty.south)
	err := pack(&out, gzip.BestSpeed, func(w io.Writer) error {
		from, to := regionRows()
		return g.rows(w, from, to)
	})
	if err != nil {
		return nil, fmt.Errorf("write the grid of %s: %w", g.Month.Format("2006-01"), err)
	}
	out.Write(empty.north)
	return out.Bytes(), nil
}

// regionRows are the first row of the southernmost region and the one after the last of the northernmost.
func regionRows() (from, to int) {
	from = gridRows
	for _, r := range regions {
		first, end := r.rows()
		from, to = min(from, first), max(to, end)
	}
	return from, to
}

// parts are the packed rows south and north of all regions.
type parts struct{ south, north []byte }

var emptyParts = sync.OnceValue(func() parts {
	from, to := regionRows()
	var south, north bytes.Buffer
	// Writing to memory does not fail.
	_ = pack(&south, gzip.BestCompression, func(w io.Writer) error { return Grid{}.rows(w, 0, from) })
	_ = pack(&north, gzip.BestCompression, func(w io.Writer) error { return Grid{}.rows(w, to, gridRows) })
	return parts{south.Bytes(), north.Bytes()}
})

func pack(out *bytes.Buffer, level int, write func(io.Writer) error) error {
	w, err := gzip.NewWriterLevel(out, level)
	if err != nil {
		return err
	}
	if err := write(w); err != nil {
		return err
	}
	return w.Close()
}

func (g Grid) head(w io.Writer) error {
	_, err := fmt.Fprintf(w, "TROPOMI monthly-mean tropospheric NO2 columns, version %s\n"+
		"Year %d Month %2d, units: 1e13 molecules/cm2, undef=-999\n"+
		"Longitudes:  2880 bins centered on 179.9375 W to 179.9375 E  (0.125 degree steps)\n"+
		"Latitudes :  1440 bins centered on  89.9375 S to  89.9375 N  (0.125 degree steps)\n",
		g.Version, g.Month.Year(), g.Month.Month())
	return err
}

// rows writes the rows from one to another.
func (g Grid) rows(w io.Writer, from, to int) error {
	const perLine = 20
	empty := append(bytes.Repeat([]byte("-999"), perLine), '\n')
	line := make([]byte, 0, 32+gridColumns*(cellWidth+1))
	for row := from; row < to; row++ {
		line = fmt.Appendf(line[:0], "lat=  %8.4f\n", latitude(row))
		values := g.values(row)
		for column := 0; column < gridColumns; column += perLine {
			next := values[column:min(column+perLine, len(values))]
			if !slices.ContainsFunc(next, func(v int) bool { return v != undefined }) {
				line = append(line, empty...)
				continue
			}
			for _, v := range next {
				if v < undefined || v > 9999 {
					return fmt.Errorf("row %d: %d has no room in %d characters", row, v, cellWidth)
				}
				text := strconv.Itoa(v)
				line = append(line, "   "[:cellWidth-len(text)]...)
				line = append(line, text...)
			}
			line = append(line, '\n')
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// values are the values of a row.
func (g Grid) values(row int) []int {
	values := slices.Repeat([]int{undefined}, gridColumns)
	if g.Cell == nil {
		return values
	}
	for _, r := range regions {
		if from, to := r.rows(); row < from || row >= to {
			continue
		}
		from, to := r.columns()
		for column := from; column < to; column++ {
			values[column] = g.Cell(row, column)
		}
	}
	return values
}
