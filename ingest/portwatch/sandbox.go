package portwatch

import (
	"net/http"
	"sync"
	"time"

	"tidemark/ingest/world/synth"
)

// syntheticNote marks every body that the sandbox makes.
const syntheticNote = "Synthetic figures, drawn by a sandbox. Not data of the International Monetary Fund."

// Sandbox answers for the layer's queries with synthetic figures as of the world's clock. The days of a week are shown from the Tuesday
// after it on. The newest week is counted a little short and completed with the next release. About twice a year a release estimates the
// whole history again. Bodies change at releases only. The history is drawn once for each call and grows with the clock; the handler is
// safe for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	mux.Handle(layerHost+queryPath, &handler{now: w.Now, strait: draw(w)})
}

// handler answers queries. The rows of a release are kept until another release is asked for: nothing in them changes in
// between, and a fast clock asks often.
type handler struct {
	now    func() time.Time
	strait *strait

	mu      sync.Mutex
	release time.Time
	rows    []Row
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(Answer(h.at(lastRelease(h.now())), r.URL.Query(), syntheticNote)) // an error means that the client has gone
}

// at returns the rows of a release. They are shared and must not be changed.
func (h *handler) at(release time.Time) []Row {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.release.Equal(release) {
		h.release, h.rows = release, h.strait.at(release)
	}
	return h.rows
}
