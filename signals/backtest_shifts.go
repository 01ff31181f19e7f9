package signals

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// circular is productsAt for all shifts: it costs O(n log n). The products of all shifts are coefficients of the product of two polynomials, x
// backwards and y. It is computed modulo t^m - i, where m is at least n: a coefficient of t^(m+k) becomes the imaginary part at t^k, as
// all are real. So m numbers are transformed and no zeros after them. (Crandall and Fagin, Mathematics of Computation 62, 1994.)
func circular(x, y []float64) []float64 {
	n := len(x)
	m := max(4, 1<<bits.Len(uint(n-1)))
	memory := borrow()
	defer memory.giveBack()
	memory.twists, memory.turns = sized(memory.twists, m), sized(memory.turns, m/2)
	memory.a, memory.b = sized(memory.a, m), sized(memory.b, m)
	twists, turns, a, b := memory.twists, memory.turns, memory.a, memory.b
	powers(math.Pi/float64(2*m), twists) // the m-th power of a twist is i: it makes t^m - i of t^m - 1
	turnsOf(turns)
	clear(a[n:])
	clear(b[n:])
	for k, v := range y {
		w, u := twists[k], x[n-1-k]
		a[k], b[k] = complex(u*real(w), u*imag(w)), complex(v*real(w), v*imag(w))
	}
	transform(a, turns)
	transform(b, turns)
	for k := range a {
		a[k] *= b[k]
	}
	untransform(a, turns)
	for k, w := range twists {
		a[k] *= complex(real(w)/float64(m), -imag(w)/float64(m))
	}
	out := make([]float64, n)
	for shift := range out {
		if k := shift + n - 1; k < m {
			out[shift] = real(a[k])
		} else {
			out[shift] = imag(a[k-m])
		}
		if shift > 0 {
			out[shift] += real(a[shift-1])
		}
	}
	return out
}

// powers sets the first powers of the number of length 1 at an angle. Their number is a power of two.
func powers(angle float64, out []complex128) {
	doubled(out, func(half int) float64 { return angle * float64(half) })
}

// turnsOf sets the factors that transforms of twice as many numbers multiply by. Number k is at the angle pi times a fraction. The fraction has the
// binary digits of k, the lowest first.
func turnsOf(out []complex128) {
	doubled(out, func(half int) float64 { return math.Pi / float64(2*half) })
}

// doubled sets numbers of length 1, from 1 on. The second half of the first 2, 4, 8 and so on is the first half turned by an angle.
func doubled(out []complex128, angle func(half int) float64) {
	out[0] = 1
	for half := 1; half < len(out); half *= 2 {
		turn := cmplx.Rect(1, angle(half))
		for k, w := range out[:half] {
			out[half+k] = w * turn
		}
	}
}

// transform turns the coefficients of a polynomial into its values at the roots of 1, in an order of its own. Their number is a power of two, at
// least 4. It takes the rests of a division by t^h - w and by t^h + w, and does the same with each rest: two such steps in one pass.
func transform(a, turns []complex128) {
	size := len(a)
	if single(size) {
		halves(a)
		size /= 2
	}
	for ; size > 1; size /= 4 {
		for block := range len(a) / size {
			p, q, r, s := quarters(a[block*size:][:size])
			u, v := turns[2*block], turns[block]
			uv := u * v
			for k, x := range p {
				qk, rk, sk := u*q[k], v*r[k], uv*s[k]
				sum, difference := x+rk, x-rk
				right, left := qk+sk, timesI(qk-sk)
				p[k], q[k], r[k], s[k] = sum+right, sum-right, difference+left, difference-left
			}
		}
	}
}

// untransform is the reverse of transform, times the number of coefficients.
func untransform(a, turns []complex128) {
	for size := 4; size <= len(a); size *= 4 {
		for block := range len(a) / size {
			p, q, r, s := quarters(a[block*size:][:size])
			u, v := cmplx.Conj(turns[2*block]), cmplx.Conj(turns[block])
			uv := u * v
			for k, x := range p {
				sum, right := x+q[k], x-q[k]
				difference, left := r[k]+s[k], timesI(s[k]-r[k])
				p[k], q[k], r[k], s[k] = sum+difference, u*(right+left), v*(sum-difference), uv*(right-left)
			}
		}
	}
	if single(len(a)) {
		halves(a)
	}
}

// single reports whether the steps of a transform are odd in number, so that one is alone in its pass.
func single(size int) bool { return bits.Len(uint(size))%2 == 0 }

// halves is the step that divides by t^h - 1 and t^h + 1. It is its own reverse, times 2.
func halves(a []complex128) {
	half := len(a) / 2
	p, q := a[:half], a[half:][:half]
	for k, x := range p {
		p[k], q[k] = x+q[k], x-q[k]
	}
}

func quarters(a []complex128) (p, q, r, s []complex128) {
	n := len(a) / 4
	return a[:n], a[n:][:n], a[2*n:][:n], a[3*n:][:n]
}

func timesI(z complex128) complex128 { return complex(-imag(z), real(z)) }
