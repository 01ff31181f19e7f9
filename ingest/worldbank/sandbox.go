package worldbank

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// syntheticNote marks every body that the sandbox makes.
const syntheticNote = "Synthetic figures, drawn by a sandbox. Not data of the World Bank."

// firstYear is the first year with a release: the figures begin in January 1960.
const firstYear = 1960

// Sandbox answers for the page of commodity markets and for the workbooks that it links to, with synthetic figures as of the world's
// clock. A month is shown from its release on, and the newest month of Japan's imports is an estimate that the next release replaces. As
// with the World Bank, the address of the workbook changes with the first release of a year, and the workbook of the year before stays in
// its last state. Bodies change at releases only. The history is drawn once for each call and grows with the clock; the handlers are safe
// for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	h := &handler{now: w.Now, noise: w.Noise("worldbank document"), boards: draw(w), books: map[int]book{}}
	mux.HandleFunc(landingHost+landingPath, h.landing)
	mux.HandleFunc("thedocs.worldbank.org/en/doc/{document}/related/"+workbookName, h.workbook)
}

// handler writes the page and the workbooks. The newest workbook of each year is kept until the next release: nothing in it
// changes in between, and a fast clock asks often.
type handler struct {
	now    func() time.Time
	noise  synth.Noise
	boards map[series.ID]*synth.ReleaseHistory

	mu    sync.Mutex
	books map[int]book
}

// book is a rendered workbook.
type book struct {
	release time.Time
	body    []byte
}

func (h *handler) landing(w http.ResponseWriter, _ *http.Request) {
	year := lastRelease(h.now()).In(ingest.NewYork()).Year()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(LandingPage(WorkbookURL(h.document(year)), syntheticNote)) // an error means that the client has gone
}

func (h *handler) workbook(w http.ResponseWriter, r *http.Request) {
	document := r.PathValue("document")
	_, text, _ := strings.Cut(document, "-005001")
	year, err := strconv.Atoi(text)
	release := lastRelease(h.now())
	if err != nil || document != h.document(year) || year < firstYear || year > release.In(ingest.NewYork()).Year() {
		http.NotFound(w, r)
		return
	}
	if end := releaseOf(year, time.November); end.Before(release) {
		release = end // December's release, the last before the address changed
	}
	body, err := h.body(year, release)
	if err != nil { // no figure that is drawn can fail
		http.Error(w, "Internal error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", workbookType)
	_, _ = w.Write(body)
}

// document is the name of a year's document: a random part and a part that ends with the year.
func (h *handler) document(year int) string {
	var random []byte
	for i := range 16 {
		random = append(random, byte(256*h.noise.Uniform(time.Date(year, 1, 1+i, 0, 0, 0, 0, time.UTC))))
	}
	return fmt.Sprintf("%s-005001%d", hex.EncodeToString(random), year)
}

func (h *handler) body(year int, release time.Time) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if kept, ok := h.books[year]; ok && kept.release.Equal(release) {
		return kept.body, nil
	}
	made := vintage{updated: release.In(ingest.NewYork()), values: map[series.ID][]synth.Point{}}
	for id, board := range h.boards {
		made.values[id] = board.AsOf(release)
	}
	body, err := made.write()
	if err != nil {
		return nil, err
	}
	h.books[year] = book{release, body}
	return body, nil
}
