package temis

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The layout: four lines of head, then for every latitude a line that names it and 2880 numbers of four characters each, twenty to a
// line. Neighbours may touch ("1203-999"), so that only the width tells them apart.
const (
	cellWidth = 4
	undefined = -999
	// maxText bounds the unpacked text. A grid has 16.8 MB.
	maxText = 32 << 20
)

// grid is the kept part of a grid.
type grid struct {
	version float64
	means   []mean // in the order of regions
}

// readGrid reads the grid of a month, packed or not. It holds one row at a time: a grid takes no more memory than its body.
func readGrid(body []byte, month time.Time) (grid, error) {
	var text io.Reader = bytes.NewReader(body)
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(text)
		if err != nil {
			return grid{}, fmt.Errorf("want a gzip file: %w", err)
		}
		text = unpacked
	}
	in := &lines{in: bufio.NewReaderSize(io.LimitReader(text, maxText+1), 16<<10)}
	version, err := readHead(in, month)
	if err != nil {
		return grid{}, err
	}
	g := grid{version: version, means: make([]mean, len(regions))}
	row := make([]byte, gridColumns*cellWidth)
	for i := range gridRows {
		if err := in.row(i, row); err != nil {
			return grid{}, err
		}
		for n, r := range regions {
			if from, to := r.rows(); i >= from && i < to {
				if err := addRow(&g.means[n], r, i, row); err != nil {
					return grid{}, err
				}
			}
		}
	}
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return g, nil
		case err != nil:
			return grid{}, err
		case len(bytes.TrimSpace(line)) > 0:
			return grid{}, fmt.Errorf("line %d continues after the last of %d latitudes: %.40q", in.n, gridRows, line)
		}
	}
}

var versionStated = regexp.MustCompile(`\bNO2\b.*\bversion v?(\d{1,3})(?:\.(\d{1,2}))?\b`)

// readHead reads the four lines above the grid and holds them to the month, the unit and the shape that are expected. It returns the
// version, minor numbers as hundredths: 2.04 for 2.4.0.
func readHead(in *lines, month time.Time) (version float64, err error) {
	var head [4]string
	for i := range head {
		line, err := in.next()
		if err != nil {
			return 0, fmt.Errorf("read the head: %w", ended(err))
		}
		head[i] = strings.Join(strings.Fields(string(line)), " ")
	}
	stated := versionStated.FindStringSubmatch(head[0])
	if stated == nil {
		return 0, fmt.Errorf(`line 1 is %.100q, want one such as "TROPOMI monthly-mean tropospheric NO2 columns, version 1.0"`, head[0])
	}
	for i, want := range []string{
		fmt.Sprintf("Year %d Month %d, units: 1e13 molecules/cm2, undef=-999", month.Year(), month.Month()),
		"Longitudes: 2880 bins centered on 179.9375 W to 179.9375 E (0.125 degree steps)",
		"Latitudes : 1440 bins centered on 89.9375 S to 89.9375 N (0.125 degree steps)",
	} {
		if head[i+1] != want {
			return 0, fmt.Errorf("line %d is %.100q, want %q", i+2, head[i+1], want)
		}
	}
	major, _ := strconv.Atoi(stated[1]) // up to three digits
	minor, _ := strconv.Atoi(stated[2]) // up to two, or none
	return float64(100*major+minor) / 100, nil
}

// addRow adds the cells of a region in a row.
func addRow(m *mean, r region, i int, row []byte) error {
	weight := math.Cos(latitude(i) * math.Pi / 180)
	from, to := r.columns()
	for c := from; c < to; c++ {
		value, err := readCell(row[c*cellWidth : (c+1)*cellWidth])
		if err != nil {
			return fmt.Errorf("latitude %g, cell %d: %w", latitude(i), c+1, err)
		}
		m.add(value, weight)
	}
	return nil
}

// readCell reads a whole number, blanks before it. Negative ones are noise over clean air and count like others.
func readCell(cell []byte) (int, error) {
	digits := bytes.TrimLeft(cell, " ")
	digits, negative := bytes.CutPrefix(digits, []byte("-"))
	value := 0
	for _, d := range digits {
		if d < '0' || d > '9' {
			digits = nil
			break
		}
		value = 10*value + int(d-'0')
	}
	if len(digits) == 0 {
		return 0, fmt.Errorf("%q is not a number of four characters", cell)
	}
	if negative {
		value = -value
	}
	return value, nil
}

// lines reads a text line by line.
type lines struct {
	in *bufio.Reader
	n  int   // of the line that was read last
	at int64 // bytes so far
}

// next returns a line without its end. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	l.n++
	l.at += int64(len(line))
	switch {
	case l.at > maxText:
		return nil, fmt.Errorf("the text continues after %d bytes", maxText)
	case err == nil:
		line = line[:len(line)-1]
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d is longer than any of a grid", l.n)
	case !errors.Is(err, io.EOF) || len(line) == 0:
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// row reads the line that names the latitude of row i, and the row's cells into row.
func (l *lines) row(i int, row []byte) error {
	line, err := l.next()
	if err != nil {
		return fmt.Errorf("read latitude %d of %d: %w", i+1, gridRows, ended(err))
	}
	stated, named := bytes.CutPrefix(line, []byte("lat="))
	value, err := strconv.ParseFloat(string(bytes.TrimSpace(stated)), 64)
	if !named || err != nil || math.Abs(value-latitude(i)) > 0.001 {
		return fmt.Errorf("line %d is %.40q, want lat= %g", l.n, line, latitude(i))
	}
	for filled := 0; filled < len(row); {
		line, err := l.next()
		if err != nil {
			return fmt.Errorf("read latitude %g: %w", latitude(i), ended(err))
		}
		if bytes.HasPrefix(line, []byte("lat=")) || filled+len(line) > len(row) {
			return fmt.Errorf("line %d: latitude %g has other than %d numbers of %d characters", l.n, latitude(i), gridColumns, cellWidth)
		}
		filled += copy(row[filled:], line)
	}
	return nil
}

// ended says of a text that ends too early that it does.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
