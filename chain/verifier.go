package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
)

// Verifier recomputes a chain link by link. It keeps only the head, so its memory does not depend on the chain's length, and adding a good
// link allocates nothing. The zero Verifier starts before the first link; Resume starts after a verified prefix. It is for one goroutine.
//
// Each link must meet five rules. Its fields have the form that the hash rule prescribes. Its seq follows the previous link's. Its date
// comes strictly after the previous link's. Its previous hash is the recomputed hash of the previous link. Its hash is the SHA-256 of its
// preimage.
type Verifier struct {
	length int64
	// day is the date of the newest link as yyyymmdd.
	day    int
	broken *Error
	// buf holds a preimage at its end, so that the date and the previous hash have fixed places. Between two calls it has the date of the newest
	// link, and its last 64 bytes are the head, which is the previous hash of the next preimage.
	buf [maxPreimage]byte
}

// The fixed places in the buffer.
const (
	atHead = maxPreimage - hashLength
	atDate = atHead - 1 - dateLength
)

// Checkpoint is a short statement of a chain's state: its length and its head. The zero Checkpoint is the empty chain's.
type Checkpoint struct {
	Length int64
	// Head is the hash of the newest link; Genesis or empty if none exists.
	Head string
	// Date is the date of the newest link; empty if none exists.
	Date string
}

// Resume returns a Verifier that continues after a checkpoint of an earlier pass. It trusts the checkpoint: only the added links are
// recomputed. A checkpoint that no chain can have is an error. Parts of a chain can so be verified beside each other: if each resumes from what the
// link before it states, all of them together prove what one pass does.
func Resume(c Checkpoint) (*Verifier, error) {
	v := &Verifier{}
	if c.Length == 0 && (c.Head == "" || c.Head == Genesis) && c.Date == "" {
		v.start()
		return v, nil
	}
	if c.Length < 1 || !isHash(c.Head) || dayOf(c.Date) == 0 {
		return nil, fmt.Errorf("resume a chain at length %d, head %q, date %q: no chain has such a checkpoint", c.Length, c.Head, c.Date)
	}
	v.start()
	v.length, v.day = c.Length, dayOf(c.Date)
	copy(v.buf[atDate:], c.Date)
	copy(v.buf[atHead:], c.Head)
	return v, nil
}

func (v *Verifier) start() {
	v.buf[atDate-1], v.buf[atHead-1] = '|', '|'
	copy(v.buf[atHead:], Genesis)
}

func (v *Verifier) head() string { return string(v.buf[atHead:]) }

func (v *Verifier) date() string {
	return fmt.Sprintf("%04d-%02d-%02d", v.day/10000, v.day/100%100, v.day%100)
}

// Checkpoint returns the verified state so far. After an error it is the state before the bad link.
func (v *Verifier) Checkpoint() Checkpoint {
	if v.length == 0 {
		return Checkpoint{Head: Genesis}
	}
	return Checkpoint{Length: v.length, Head: v.head(), Date: v.date()}
}

// Err returns the error that ended the verification, nil while every link was good.
func (v *Verifier) Err() error {
	if v.broken == nil {
		return nil
	}
	return v.broken
}

// Add verifies the next link. Its error is an *Error; a chain that is broken once stays broken, and every later Add returns the
// same error.
//
// Inlined into another package, the generic function below loses what is known of its parameters, and they move to the heap.
//
//go:noinline
func (v *Verifier) Add(l Link) error {
	return add(v, (*linkOf[string])(&l))
}

// AddBytes is Add for values that are still bytes of a reader's buffer. It keeps none of them.
//
//go:noinline
func (v *Verifier) AddBytes(seq int64, ticker, price, date, previousHash, hash []byte) error {
	return add(v, &linkOf[[]byte]{seq, ticker, price, date, previousHash, hash})
}

// linkOf is a Link whose values are text of either kind.
type linkOf[T text] struct {
	Seq                                     int64
	Ticker, Price, Date, PreviousHash, Hash T
}

func add[T text](v *Verifier, l *linkOf[T]) error {
	if v.broken != nil {
		return v.broken
	}
	if v.length == 0 {
		v.start()
	}
	day, e := follow(v, l)
	if e != nil {
		v.broken = e
		return e
	}
	v.length++
	v.day = day
	copy(v.buf[atHead:], l.Hash[:hashLength])
	return nil
}

// follow holds all rules of the next link. It returns the link's date as dayOf reads it. Errors are made elsewhere: their code takes registers
// from what good links need.
func follow[T text](v *Verifier, l *linkOf[T]) (int, *Error) {
	if l.Seq != v.length+1 {
		return 0, v.seqFault(l.Seq)
	}
	if len(l.Ticker) > maxTicker || len(l.Price) > maxPrice || len(l.Date) != dateLength {
		_, e := checkFields(l.Seq, l.Ticker, l.Price, l.Date)
		return 0, e
	}
	day := nextDay(v, l.Date)
	// Written before the checks, the short values have reached the cache by the time that they are hashed.
	copy(v.buf[atDate:], l.Date)
	atPrice := atDate - 1 - len(l.Price)
	copy(v.buf[atPrice:], l.Price)
	v.buf[atPrice-1] = '|'
	atTicker := atPrice - 1 - len(l.Ticker)
	copy(v.buf[atTicker:], l.Ticker)
	if day == 0 || tickerFault(l.Ticker) != "" || priceFault(l.Price) != "" {
		_, e := checkFields(l.Seq, l.Ticker, l.Price, l.Date)
		return 0, e
	}
	if day <= v.day {
		return 0, v.dateFault(l.Seq, string(l.Date))
	}
	// The head was computed here or checked by Resume, so what equals it has the form of a hash.
	if !isHead(l.PreviousHash, v.buf[atHead:]) {
		return 0, v.previousFault(l.Seq, string(l.PreviousHash))
	}
	sum := sha256.Sum256(v.buf[atTicker:])
	if !isHexOf(l.Hash, &sum) {
		return 0, hashFault(l.Seq, string(l.Hash), sum[:])
	}
	return day, nil
}

//go:noinline
func (v *Verifier) seqFault(seq int64) *Error {
	return &Error{Seq: seq, Field: "seq", Reason: fmt.Sprintf("expected %d", v.length+1)}
}

//go:noinline
func (v *Verifier) dateFault(seq int64, date string) *Error {
	return &Error{Seq: seq, Field: "date", Reason: fmt.Sprintf("%s does not come after %s, the date of the pick before", date, v.date())}
}

//go:noinline
func (v *Verifier) previousFault(seq int64, hash string) *Error {
	return &Error{Seq: seq, Field: "previous_hash", Reason: fmt.Sprintf("is %.80q, the hash of the pick before is %s", hash, v.head())}
}

//go:noinline
func hashFault(seq int64, hash string, sum []byte) *Error {
	return &Error{Seq: seq, Field: "hash", Reason: fmt.Sprintf("is %.80q, recomputed %s", hash, hex.EncodeToString(sum))}
}

// nextDay reads the date of the next link as dayOf does. Of a date in the month of the link before, which is still in the buffer, it reads two
// digits alone. Each month has 28 days.
func nextDay[T text](v *Verifier, date T) int {
	if v.day > 0 && loadEight(date, 0) == loadEight(v.buf[atDate:], 0) {
		tens, ones := date[dateLength-2]-'0', date[dateLength-1]-'0'
		if n := int(tens)*10 + int(ones); ones <= 9 && n >= 1 && n <= 28 {
			return v.day - v.day%100 + n
		}
	}
	return dayOf(date)
}

// isHead reports whether h is head. A loop over the words took longer.
func isHead[T text](h T, head []byte) bool {
	if len(h) != hashLength || len(head) != hashLength {
		return false
	}
	var differ uint64
	differ |= loadEight(h, 0) ^ loadEight(head, 0)
	differ |= loadEight(h, 8) ^ loadEight(head, 8)
	differ |= loadEight(h, 16) ^ loadEight(head, 16)
	differ |= loadEight(h, 24) ^ loadEight(head, 24)
	differ |= loadEight(h, 32) ^ loadEight(head, 32)
	differ |= loadEight(h, 40) ^ loadEight(head, 40)
	differ |= loadEight(h, 48) ^ loadEight(head, 48)
	differ |= loadEight(h, 56) ^ loadEight(head, 56)
	return differ == 0
}

// isHexOf reports whether h is sum in lower-case hex. It compares eight digits at a time as it makes them: with hex.Encode and a separate
// comparison, this took a third of a verification's time.
func isHexOf[T text](h T, sum *[sha256.Size]byte) bool {
	if len(h) != hashLength {
		return false
	}
	var differ uint64
	differ |= eightDigits(sum, 0) ^ loadEight(h, 0)
	differ |= eightDigits(sum, 4) ^ loadEight(h, 8)
	differ |= eightDigits(sum, 8) ^ loadEight(h, 16)
	differ |= eightDigits(sum, 12) ^ loadEight(h, 24)
	differ |= eightDigits(sum, 16) ^ loadEight(h, 32)
	differ |= eightDigits(sum, 20) ^ loadEight(h, 40)
	differ |= eightDigits(sum, 24) ^ loadEight(h, 48)
	differ |= eightDigits(sum, 28) ^ loadEight(h, 56)
	return differ == 0
}

// eightDigits writes four bytes of sum from i on in hex, the first digit lowest.
func eightDigits(sum *[sha256.Size]byte, i int) uint64 {
	return uint64(twoDigits[sum[i]]) | uint64(twoDigits[sum[i+1]])<<16 | uint64(twoDigits[sum[i+2]])<<32 | uint64(twoDigits[sum[i+3]])<<48
}

// twoDigits holds the hex digits of each byte, the first one lower.
var twoDigits = func() (t [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range t {
		t[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return t
}()

// loadFour reads four bytes of h from i on, the first one lowest.
func loadFour[T text](h T, i int) uint32 {
	_ = h[i+3]
	return uint32(h[i]) | uint32(h[i+1])<<8 | uint32(h[i+2])<<16 | uint32(h[i+3])<<24
}

// loadEight reads eight bytes of h from i on, the first one lowest. The compiler makes one load of it.
func loadEight[T text](h T, i int) uint64 {
	_ = h[i+7]
	return uint64(h[i]) | uint64(h[i+1])<<8 | uint64(h[i+2])<<16 | uint64(h[i+3])<<24 |
		uint64(h[i+4])<<32 | uint64(h[i+5])<<40 | uint64(h[i+6])<<48 | uint64(h[i+7])<<56
}

// Verify recomputes a whole chain from its first link and returns the checkpoint it reaches. An error of the iterator ends it and is
// returned wrapped; a broken rule is an *Error. In both cases the checkpoint covers the good links before the error.
func Verify(links iter.Seq2[Link, error]) (Checkpoint, error) {
	var v Verifier
	for l, err := range links {
		if err != nil {
			return v.Checkpoint(), fmt.Errorf("read the link after %d: %w", v.length, err)
		}
		if err := v.Add(l); err != nil {
			return v.Checkpoint(), err
		}
	}
	return v.Checkpoint(), nil
}

// Each yields the links of a slice in the form that Verify reads.
func Each(links []Link) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for _, l := range links {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// FirstInvalid returns the seq that an error of this package names, and whether it names one.
func FirstInvalid(err error) (int64, bool) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Seq, true
	}
	return 0, false
}
