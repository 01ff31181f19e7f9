package forecast

import (
	"math"
	"slices"
)

// Products that are added are written float64(a*b): some processors would fuse the two and round once, and a forecast must come out with
// the same digits on every machine.

// quantile6 is the quantile p of the errors by linear interpolation at rank p*(n+1), limited to the ends: type 6 of Hyndman and Fan (The
// American Statistician 50, 1996). The errors ascend. NaN if none exist.
func quantile6(errors []float64, p float64) float64 {
	n := len(errors)
	if n == 0 {
		return math.NaN()
	}
	h := min(max(float64(n+1)*p, 1), float64(n))
	k := min(int(h), n-1)
	if k == 0 {
		return errors[0]
	}
	return errors[k-1] + float64((h-float64(k))*(errors[k]-errors[k-1]))
}

// window is the last errors of a forecaster, as they came and in order.
type window struct {
	capacity        int
	came, ascending []float64
}

// add appends an error, and drops the oldest if there are more than capacity. An unknown error is skipped.
func (w *window) add(e float64) {
	if math.IsNaN(e) || math.IsInf(e, 0) {
		return
	}
	w.came = append(w.came, e)
	i, _ := slices.BinarySearch(w.ascending, e)
	w.ascending = slices.Insert(w.ascending, i, e)
	if len(w.came) > w.capacity {
		i, _ := slices.BinarySearch(w.ascending, w.came[0])
		w.ascending = slices.Delete(w.ascending, i, i+1)
		w.came = w.came[1:]
	}
}

// dress returns a location with the spread of past errors: location + scale * quantile6(error, level). The errors are in units of the
// scale. It returns false if there are fewer than minErrors.
func (w *window) dress(location, scale float64, minErrors int) (q Quantiles, ok bool) {
	if len(w.came) < minErrors || math.IsNaN(location) || !(scale > 0) {
		return q, false
	}
	for i, p := range Levels {
		q[i] = location + float64(scale*quantile6(w.ascending, p))
	}
	return q, q.known()
}

// ewma is a running standard deviation. It starts with the mean of the first squares. Each step takes lambda times the variance, plus the
// new square times 1 - lambda; the square is limited to clip times the variance before.
type ewma struct {
	lambda, clip float64
	// minSquares is the number of squares in the first variance.
	minSquares int
	n          int
	v          float64
}

// sd is the standard deviation by the errors so far, NaN before there are enough.
func (w *ewma) sd() float64 {
	if w.n < w.minSquares {
		return math.NaN()
	}
	return math.Sqrt(w.v)
}

func (w *ewma) add(e float64) {
	if math.IsNaN(e) {
		return
	}
	square := float64(e * e)
	if w.n++; w.n <= w.minSquares {
		w.v += (square - w.v) / float64(w.n)
		return
	}
	w.v = float64(w.lambda*w.v) + float64((1-w.lambda)*min(square, float64(w.clip*w.v)))
}

// regression is a ridge regression on its rows: the sums of their columns, of the columns' products, and of both with the values. Adding
// or dropping a row costs O(p^2) in its columns. Their means should not be far from zero compared with their spread.
type regression struct {
	n                 int
	columns, with     []float64 // the sums of the columns, and of the columns times the values
	products          []float64 // the lower triangle, row by row
	values            float64
	penalty           float64
	minRows, capacity int
	rows              []regressionRow
}

type regressionRow struct {
	x []float64
	y float64
}

// learn adds a row, and drops the oldest if there are more than capacity.
func (r *regression) learn(x []float64, y float64) {
	if r.columns == nil {
		p := len(x)
		r.columns, r.with, r.products = make([]float64, p), make([]float64, p), make([]float64, p*p)
	}
	r.rows = append(r.rows, regressionRow{x, y})
	r.count(x, y, 1)
	if len(r.rows) > r.capacity {
		r.count(r.rows[0].x, r.rows[0].y, -1)
		r.rows = r.rows[1:]
	}
}

func (r *regression) count(x []float64, y, sign float64) {
	r.n += int(sign)
	r.values += float64(sign * y)
	p := len(x)
	for j, a := range x {
		a *= sign
		r.columns[j] += a
		r.with[j] += float64(a * y)
		line := r.products[j*p : j*p+j+1]
		for k := range line {
			line[k] += float64(a * x[k])
		}
	}
}

// predict returns the prediction for x: centred values on standardised columns, with the penalty times the number of rows on each square
// of a coefficient. NaN if there are fewer than minRows rows.
func (r *regression) predict(x []float64) float64 {
	if r.n < r.minRows {
		return math.NaN()
	}
	n, p := float64(r.n), len(x)
	gram, right, scale := make([]float64, p*p), make([]float64, p), make([]float64, p)
	for j := range p {
		right[j] = r.with[j] - float64(r.columns[j]*r.values)/n
		for k := range j + 1 {
			gram[j*p+k] = r.products[j*p+k] - float64(r.columns[j]*r.columns[k])/n
		}
		if scale[j] = math.Sqrt(gram[j*p+j] / n); !(scale[j] > 0) {
			scale[j] = math.Inf(1) // a constant column says nothing
		}
	}
	for j := range p {
		right[j] /= scale[j]
		for k := range j + 1 {
			gram[j*p+k] /= float64(scale[j] * scale[k])
		}
		gram[j*p+j] += float64(r.penalty * n)
	}
	out := r.values / n
	for j, b := range solve(gram, right) {
		out += float64(b * (x[j] - r.columns[j]/n) / scale[j])
	}
	return out
}

// solve returns the solution of A*x = b for a symmetric positive definite A, by Cholesky's method. The lower triangle of A is given row
// by row. It works in place.
func solve(a, b []float64) []float64 {
	p := len(b)
	for j := range p {
		for k := range j + 1 {
			s := a[j*p+k]
			for i := range k {
				s -= float64(a[j*p+i] * a[k*p+i])
			}
			if j == k {
				a[j*p+j] = math.Sqrt(s)
			} else {
				a[j*p+k] = s / a[k*p+k]
			}
		}
		for i := range j {
			b[j] -= float64(a[j*p+i] * b[i])
		}
		b[j] /= a[j*p+j]
	}
	for j := p - 1; j >= 0; j-- {
		for i := j + 1; i < p; i++ {
			b[j] -= float64(a[i*p+j] * b[i])
		}
		b[j] /= a[j*p+j]
	}
	return b
}

// smooth is simple exponential smoothing of the values: what each is expected to be by those before it, and as the last member what
// comes after all. The first is expected to be itself.
func smooth(values []float64, share float64) []float64 {
	out := make([]float64, len(values)+1)
	level := math.NaN()
	for i, y := range values {
		if math.IsNaN(level) {
			level = y
		}
		out[i] = level
		if !math.IsNaN(y) {
			level += float64(share * (y - level))
		}
	}
	out[len(values)] = level
	return out
}

const (
	// A surprise of more than three root mean squares of the last year's is a break: the level starts again there.
	breakWidth = 3
	breakWeeks = 52
)

// smoothWithBreaks is smooth whose level jumps to a value that is further off than breakWidth root mean squares of the last breakWeeks
// errors. An error enters these clipped at that width, so that one break does not hide the next.
func smoothWithBreaks(values []float64, share float64) []float64 {
	out := make([]float64, len(values)+1)
	level := math.NaN()
	var squares []float64
	for i, y := range values {
		if math.IsNaN(level) {
			level = y
		}
		out[i] = level
		if math.IsNaN(y) {
			continue
		}
		e := y - level
		width := math.Inf(1)
		if len(squares) == breakWeeks {
			var sum float64
			for _, s := range squares {
				sum += s
			}
			width = breakWidth * math.Sqrt(sum/breakWeeks)
			squares = squares[1:]
		}
		if math.Abs(e) > width {
			level = y
			e = width
		} else {
			level += float64(share * e)
		}
		squares = append(squares, float64(e*e))
	}
	out[len(values)] = level
	return out
}

// median is the middle value, or the mean of the two in the middle; NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
