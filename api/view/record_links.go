package view

import (
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"tidemark/chain"
	"tidemark/internal/postgres"
)

// link is one announced pick as it is stored. Its texts are contiguous in one string, in the order in which they are hashed, so that the
// preimage is a substring.
type link struct {
	chain.Link
	preimage string
}

// newLink returns a link with the values of a row.
func newLink(seq int64, ticker, price, date, previous, hash []byte) link {
	var room [256]byte // most links fit, so that only their string is allocated
	b := append(append(room[:0], ticker...), '|')
	t := len(ticker)
	p0 := len(b)
	b = append(append(b, price...), '|')
	p1, d0 := len(b)-1, len(b)
	b = append(append(b, date...), '|')
	d1, r0 := len(b)-1, len(b)
	b = append(b, previous...)
	r1 := len(b)
	b = append(b, hash...)
	s, h0, h1 := string(b), r1, len(b)
	return link{Link: chain.Link{Seq: seq, Ticker: s[:t], Price: s[p0:p1], Date: s[d0:d1], PreviousHash: s[r0:r1], Hash: s[h0:h1]}, preimage: s[:r1]}
}

// is reports whether the link has the values of a row.
func (l *link) is(seq int64, ticker, price, date, previous, hash []byte) bool {
	return l.Seq == seq && l.Ticker == string(ticker) && l.Price == string(price) && l.Date == string(date) &&
		l.PreviousHash == string(previous) && l.Hash == string(hash)
}

// span gives one state to all picks after the previous span, up to and including its own pick.
type span struct {
	to    int64
	state string
}

// spans is in ascending order. A pick in no span is pending.
type spans []span

// of returns the state of a pick.
func (s spans) of(seq int64) string {
	i, _ := slices.BinarySearchFunc(s, seq, func(x span, seq int64) int {
		if x.to < seq {
			return -1
		}
		return 1
	})
	if i == len(s) {
		return postgres.AttestationPending
	}
	return s[i].state
}

// within returns the part of the spans that covers the picks from one number to another.
func (s spans) within(from, to int64) spans {
	var part spans
	for _, x := range s {
		if x.to < from {
			continue
		}
		x.to = min(x.to, to)
		if part = append(part, x); x.to == to {
			break
		}
	}
	return part
}

// appendLinkJSON appends a pick as an object.
func appendLinkJSON(b []byte, l *link, state string) []byte {
	text := appendQuoted
	if isPlain(l.preimage) && isPlain(l.Hash) { // the preimage has all other texts in it
		text = appendPlain
	}
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, l.Seq, 10)
	b = text(append(b, `,"ticker":`...), l.Ticker)
	b = text(append(b, `,"price":`...), l.Price)
	b = text(append(b, `,"date":`...), l.Date)
	b = text(append(b, `,"previous_hash":`...), l.PreviousHash)
	b = text(append(b, `,"hash":`...), l.Hash)
	b = text(append(b, `,"preimage":`...), l.preimage)
	b = appendQuoted(append(b, `,"attestation_status":`...), state)
	return append(b, '}')
}

// isPlain reports whether a JSON string needs no escapes. Valid chain values need none, but tampered ones may.
func isPlain(s string) bool {
	for i := range len(s) {
		if !plain[s[i]] {
			return false
		}
	}
	return true
}

// plain has the bytes that a JSON string holds without an escape.
var plain = func() (table [256]bool) {
	for c := ' '; c <= '~'; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// appendQuoted appends a JSON string.
func appendQuoted(b []byte, s string) []byte {
	if isPlain(s) {
		return appendPlain(b, s)
	}
	quoted, _ := json.Marshal(s) // encoding a string cannot fail
	return append(b, quoted...)
}

// appendPlain appends a JSON string that needs no escapes.
func appendPlain(b []byte, s string) []byte { return append(append(append(b, '"'), s...), '"') }

// linkHeader is the CSV header of a pick.
const linkHeader = "seq,ticker,price,date,previous_hash,hash,preimage,attestation_status\r\n"

// appendLinkCSV appends a pick as a CSV line.
func appendLinkCSV(b []byte, l *link, state string) []byte {
	b = strconv.AppendInt(b, l.Seq, 10)
	for _, v := range [...]string{l.Ticker, l.Price, l.Date, l.PreviousHash, l.Hash, l.preimage, state} {
		b = appendCell(append(b, ','), v)
	}
	return append(b, "\r\n"...)
}

// appendCell appends a CSV cell. A cell that a spreadsheet would interpret as a formula starts with an apostrophe.
func appendCell(b []byte, s string) []byte {
	if s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		s = "'" + s
	}
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(b, s...)
	}
	return append(append(append(b, '"'), strings.ReplaceAll(s, `"`, `""`)...), '"')
}

// chunkLinks is how many picks one finished chunk of the chain has: about four years.
const chunkLinks = 1000

// chunk is a finished part of the chain as JSON, with the comma before it.
type chunk struct {
	*gzipMember

	n      int
	states spans
}

// chunksOf builds the chunks, on all cores. It reuses a chunk of before if all its picks are among the first `same` ones and their states did not
// change.
func chunksOf(links []link, same int, states spans, before []chunk) []chunk {
	out := make([]chunk, (len(links)+chunkLinks-1)/chunkLinks)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range out {
		from := i * chunkLinks
		part := links[from:min(from+chunkLinks, len(links))]
		within := states.within(int64(from+1), int64(from+len(part)))
		if i < len(before) && before[i].n == len(part) && from+len(part) <= same && slices.Equal(before[i].states, within) {
			out[i] = before[i]
			continue
		}
		g.Go(func() error {
			out[i] = chunk{gzipMember: newPiece(linksJSON(part, from > 0, states)), n: len(part), states: within}
			return nil
		})
	}
	_ = g.Wait() // building fails nowhere
	return out
}

// linksJSON returns picks as JSON. follows says that others come before them.
func linksJSON(part []link, follows bool, states spans) []byte {
	body := make([]byte, 0, len(part)*400)
	for i := range part {
		if follows || i > 0 {
			body = append(body, ',')
		}
		body = appendLinkJSON(body, &part[i], states.of(part[i].Seq))
	}
	return body
}
