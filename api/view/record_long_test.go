package view

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"tidemark/chain"
)

// stateOf returns the state of a chain of n picks after an earlier state.
func stateOf(t *testing.T, links []link, before *RecordState) *RecordState {
	t.Helper()
	clock := func() time.Time { return time.Date(2026, time.November, 26, 15, 0, 0, 0, time.UTC) }
	st := &RecordState{o: RecordOptions{PublicURL: "https://record.example", World: WorldSandbox, Now: clock, Clock: clock}, links: links, verifiedAt: clock()}
	if err := st.finish(before, len(before.links)); err != nil {
		t.Fatal(err)
	}
	return st
}

func bytesOf(r Representation) []byte { return slices.Concat(append([][]byte{r.Body}, r.Tail...)...) }

// A long chain is served plain until it is compressed. Both forms then say the same, and a later state compresses only what is new.
func TestALongChainIsServedBeforeItIsCompressed(t *testing.T) {
	t.Parallel()
	const picks = 30_500
	var at chain.Checkpoint
	var links []link
	for day := time.Date(1, time.January, 2, 0, 0, 0, 0, time.UTC); len(links) < picks; day = day.AddDate(0, 0, 1) {
		l, err := chain.Next(at, "AAPL", "187.25", day.Format(time.DateOnly))
		if err != nil {
			t.Fatal(err)
		}
		at = chain.Checkpoint{Length: l.Seq, Head: l.Hash, Date: l.Date}
		links = append(links, newLink(l.Seq, []byte(l.Ticker), []byte(l.Price), []byte(l.Date), []byte(l.PreviousHash), []byte(l.Hash)))
	}
	first := stateOf(t, links[:picks-1], &RecordState{})
	plain := first.Whole().Identity
	if first.isCompressed() {
		t.Errorf("a chain of %d bytes is compressed before it is served", len(bytesOf(plain)))
	}
	first.compress(func() bool { return true })
	if first.isCompressed() {
		t.Error("a state that was replaced is compressed to the end")
	}
	first.compress(func() bool { return false })
	later := stateOf(t, links, first)
	for name, st := range map[string]*RecordState{"the first state": first, "the next state, at once": later} {
		whole := st.Whole()
		zipped, err := gzip.NewReader(bytes.NewReader(bytesOf(whole.Gzip)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(zipped)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(got, bytesOf(whole.Identity)) {
			t.Errorf("%s: the compressed form says something else", name)
		}
	}
	if again := first.Whole().Identity; again.ETag != plain.ETag || !bytes.Equal(bytesOf(again), bytesOf(plain)) {
		t.Error("the plain form has changed when it was compressed")
	}
}

// All requests for a file of the whole chain share one, also when they come at once. A file of thousands of years is written for each.
func TestTheFileOfTheWholeChainIsMadeOnce(t *testing.T) {
	t.Parallel()
	links := make([]link, maxKeptLinks+1)
	for i := range links {
		links[i] = newLink(int64(i+1), []byte("AAPL"), []byte("187.25"), []byte("2026-11-26"), []byte("00"), []byte("11"))
	}
	st := stateOf(t, links[:len(links)-1], &RecordState{})
	for _, format := range []string{FormatParquet, FormatArrow} {
		all := make(chan *Document, 50)
		for range cap(all) {
			go func() {
				d, err := st.File(format)
				if err != nil {
					t.Error(err)
				}
				all <- d
			}()
		}
		first := <-all
		for range cap(all) - 1 {
			if d := <-all; d != first {
				t.Errorf("%s was made more than once", format)
			}
		}
		var written bytes.Buffer
		if err := st.Page(1, 0, format).Write(t.Context(), &written, 0); err != nil || !bytes.Equal(first.Identity.Body, written.Bytes()) {
			t.Errorf("%s: %d bytes are kept and %d written, %v", format, len(first.Identity.Body), written.Len(), err)
		}
		if err := st.Page(2, 0, format).Write(t.Context(), &written, 1000); !errors.Is(err, ErrCut) {
			t.Errorf("the beginning of %s: %v", format, err)
		}
	}
	for _, format := range Formats() {
		if d, err := stateOf(t, links, &RecordState{}).File(format); d != nil || err != nil {
			t.Errorf("%s of a chain that is too long to keep: %v, %v", format, d, err)
		}
	}
}
