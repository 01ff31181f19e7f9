package eia

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// syntheticNote marks every body that the sandbox makes.
const syntheticNote = "Synthetic figures, drawn by a sandbox. Not data of the U.S. Energy Information Administration."

// Sandbox answers for www.eia.gov's history pages and api.eia.gov's petroleum routes, in their wire forms, with synthetic figures as of the
// world's clock. A value is shown from its release on, now and then one is revised, and holidays are blank. Bodies change at releases only.
// The history is drawn once for each call and grows with the clock; the handlers are safe for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	boards := draw(w)
	pages := pageHandler{now: w.Now, boards: boards, pages: map[series.ID]renderedPage{}}
	mux.Handle(pageHost+pagePath, &pages)
	routes := map[string]bool{}
	for _, g := range []group{spot, weekly} {
		for _, h := range g.histories {
			if !routes[h.route] {
				routes[h.route] = true
				mux.Handle(apiHost+"/v2/"+h.route+"/data/", apiHandler{g, h.route, w.Now, boards})
			}
		}
	}
	mux.Handle(apiHost+"/", http.HandlerFunc(apiNotFound))
}

// release returns a group's newest release at or before an instant.
func (g group) release(at time.Time) time.Time {
	if g.frequency == "weekly" {
		return stocksRelease.last(at)
	}
	return spotRelease.last(at)
}

// pageHandler writes history pages. The page of a release is kept until another release is asked for, because nothing on it
// changes in between and a fast clock asks often.
type pageHandler struct {
	now    func() time.Time
	boards map[series.ID]*synth.ReleaseHistory

	mu    sync.Mutex
	pages map[series.ID]renderedPage
}

type renderedPage struct {
	release time.Time
	body    []byte
}

func (p *pageHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id := series.ID("eia." + strings.ToUpper(q.Get("s")))
	g, _, err := find(id)
	if err != nil || !strings.EqualFold(q.Get("n"), "PET") || !strings.EqualFold(q.Get("f"), g.letter) {
		htmlError(w, "File Not Found")
		return
	}
	body, err := p.body(g, id)
	if err != nil { // before the first release of all
		htmlError(w, "No data: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body) // an error means that the client has gone
}

func (p *pageHandler) body(g group, id series.ID) ([]byte, error) {
	release := g.release(p.now())
	p.mu.Lock()
	defer p.mu.Unlock()
	if kept, ok := p.pages[id]; ok && kept.release.Equal(release) {
		return kept.body, nil
	}
	date := release.In(ingest.NewYork())
	body, err := Page{
		Series:   id,
		Released: time.Date(date.Year(), date.Month(), date.Day(), 0, 0, 0, 0, time.UTC),
		Next:     time.Date(date.Year(), date.Month(), date.Day()+7, 0, 0, 0, 0, time.UTC),
		Readings: asOf(p.boards[id], id, release),
		Note:     syntheticNote,
	}.HTML()
	if err != nil {
		return nil, err
	}
	p.pages[id] = renderedPage{release, body}
	return body, nil
}

func htmlError(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("<html><head><title>" + text + "</title></head><body>" + text + "</body></html>\n"))
}
