package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/chain"
	"tidemark/chain/tlog"
	"tidemark/internal/columns"
	"tidemark/internal/postgres"
)

// RecordState is the verifiable record at one moment. It is immutable, but for the compressed form of a long chain and the files with typed
// columns, which come later.
type RecordState struct {
	o RecordOptions
	// day is the New York day of the check of the record. verifiedAt is the world's time of the check.
	day, verifiedAt time.Time

	links        []link
	gaps         []chain.Gap
	corrections  []chain.Correction
	ledger       postgres.LedgerState
	commits      []postgres.LedgerCommit
	attester     postgres.AttesterState
	attestations []postgres.Attestation
	// logged is the leaf number of each pick in the transparency log, by the pick's number.
	logged map[int64]int64
	// sealed are the days whose pick was sealed, by date.
	sealed []tlog.SealedDay
	// stamped are the leaves of seals whose proof has a time stamp beside it.
	stamped map[int64]bool

	// held is the part of the log that the operator's witnesses hold.
	held heldLog
	// judgement is on the chain alone, verdict on the whole record with its seals, and judged says who was counted.
	judgement chain.Judgement
	verdict   chain.Verdict
	judged    Judged

	proof  verified
	checks RecordChecks
	states spans
	chunks []chunk
	// head and tail are the JSON response before and after its picks.
	head, tail []byte
	// pieces make up the whole response.
	pieces []*gzipMember
	whole  atomic.Pointer[Document]
	// files build the whole chain in the formats with types, by format, once each. It is nil for a chain longer than maxKeptLinks.
	files map[string]func() (*Document, error)
}

// maxKeptLinks is the longest chain whose files with typed columns are kept, about 80 years of picks. The files take 15 MB then.
const maxKeptLinks = 20_000

// compressedAtOnce is how many bytes of a new state are compressed before it is served. Of a longer chain the plain form is served first: to
// compress a million picks takes six seconds of processor time, longer than reading and recomputing them.
const compressedAtOnce = 8 << 20

// finish builds the responses. The first `same` links are equal to the previous state's links.
func (st *RecordState) finish(before *RecordState, same int) error {
	st.states = spansOf(st.attestations)
	var beside errgroup.Group // the bytes of a long chain take as long as its checks
	beside.Go(func() error {
		st.chunks = chunksOf(st.links, same, st.states, before.chunks)
		return nil
	})
	st.checks = RecordChecks{
		Hashes: st.proof.hashes, Links: st.proof.links, Git: st.checkGit(), Attestations: st.checkAttestations(),
		BusinessDays: businessDays(st.links, st.gaps, st.verifiedAt), Seals: st.checkSeals(),
	}
	st.judge()
	err := beside.Wait()
	if err != nil {
		return err
	}
	if st.head, st.tail, err = st.frame(); err != nil {
		return err
	}
	st.pieces = make([]*gzipMember, 0, len(st.chunks)+2)
	st.pieces = append(st.pieces, newPiece(st.head))
	for _, c := range st.chunks {
		st.pieces = append(st.pieces, c.gzipMember)
	}
	st.pieces = append(st.pieces, newPiece(st.end(nil)))
	st.join(notDeflated(st.pieces) <= compressedAtOnce)
	if len(st.links) <= maxKeptLinks {
		st.files = map[string]func() (*Document, error){}
		for _, format := range []string{FormatParquet, FormatArrow} {
			st.files[format] = sync.OnceValues(func() (*Document, error) { return st.newFile(format) })
		}
	}
	return nil
}

func (st *RecordState) join(compressed bool) {
	st.whole.Store(joinPieces(TypeJSON, CachePublic, st.pieces, time.Time{}, compressed))
}

// isCompressed reports whether the whole chain has its compressed form.
func (st *RecordState) isCompressed() bool { return st.Whole().Gzip.Body != nil }

// compress adds the compressed form of the whole chain. It gives up when stop returns true. A later state keeps the blocks that are
// compressed by then.
func (st *RecordState) compress(stop func() bool) {
	for _, p := range st.pieces {
		if stop() {
			return
		}
		p.deflate()
	}
	st.join(true)
}

// end returns the response after its picks. next is where the next page begins, nil if this is the last.
func (st *RecordState) end(next *int64) []byte {
	b := append([]byte(nil), `],"next_from_seq":`...)
	if next == nil {
		b = append(b, "null,"...)
	} else {
		b = fmt.Append(b, *next, ",")
	}
	return append(b, st.tail...)
}

// Valid reports whether every link was recomputed from the stored values and matches.
func (st *RecordState) Valid() bool { return st.proof.invalid == 0 }

// Length returns the number of announced picks.
func (st *RecordState) Length() int { return len(st.links) }

// Checks are the checks of the whole chain.
func (st *RecordState) Checks() RecordChecks { return st.checks }

// Whole returns the whole chain as JSON. While a long chain is being compressed, the document has no compressed form.
func (st *RecordState) Whole() *Document { return st.whole.Load() }

// File returns the whole chain in a format with types. The first request builds it, and all share it. It is nil for another format, and for
// a chain longer than maxKeptLinks, whose file is written for each request.
func (st *RecordState) File(format string) (*Document, error) {
	if build := st.files[format]; build != nil {
		return build()
	}
	return nil, nil
}

// RecordPage is a part of the chain that is written link by link.
type RecordPage struct {
	MediaType, ETag string

	st     *RecordState
	format string
	links  []link
	next   *int64
}

// Page returns the part of the chain from a number on. It has at most limit links, or all if limit is 0. format is a format of a listing.
func (st *RecordState) Page(from int64, limit int, format string) *RecordPage {
	i, _ := slices.BinarySearchFunc(st.links, from, func(l link, from int64) int { return int(l.Seq - from) })
	p := &RecordPage{MediaType: formatTypes[format], st: st, format: format, links: st.links[i:]}
	if limit > 0 && limit < len(p.links) {
		p.next = &p.links[limit].Seq
		p.links = p.links[:limit]
	}
	sum := sha256.Sum256(fmt.Append(nil, st.Whole().Identity.ETag, " ", format, " ", from, " ", limit, columns.Edition(format)))
	p.ETag = hex.EncodeToString(sum[:16])
	return p
}

// Columnar reports whether the page is in a format with types.
func (p *RecordPage) Columnar() bool { return Columnar(p.format) }

// Write writes the page. With a limit above 0 it writes only the beginning and at most that many links. A file with typed columns has no such
// beginning: the error is ErrCut if it would have more links.
func (p *RecordPage) Write(_ context.Context, w io.Writer, limit int) error {
	if p.Columnar() {
		if limit > 0 && len(p.links) > limit {
			return ErrCut
		}
		return p.writeColumns(w)
	}
	var b []byte
	switch p.format {
	case FormatJSON:
		b = append(b, p.st.head...)
	case FormatCSV:
		b = append(b, linkHeader...)
	}
	for i := range p.links {
		if i == limit && limit > 0 {
			break
		}
		l := &p.links[i]
		state := p.st.states.of(l.Seq)
		switch p.format {
		case FormatJSON:
			if i > 0 {
				b = append(b, ',')
			}
			b = appendLinkJSON(b, l, state)
		case FormatNDJSON:
			b = append(appendLinkJSON(b, l, state), '\n')
		case FormatCSV:
			b = appendLinkCSV(b, l, state)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	if p.format == FormatJSON {
		b = append(b, p.st.end(p.next)...)
	}
	_, err := w.Write(b)
	return err
}
