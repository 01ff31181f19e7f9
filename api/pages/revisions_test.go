package pages

import (
	"html/template"
	"io"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/signals"
)

// A revised point is on the page of revisions. In its first days, a sandbox rarely has revisions.
func TestTheRevisionsOfASignalAreAPage(t *testing.T) {
	t.Parallel()
	def := signals.All()[0]
	page := template.Must(template.New("layout.html").Funcs(functions).Funcs(template.FuncMap{"static": func(name string) string { return name }}).
		ParseFS(files, "templates/layout.html", "templates/parts.html", "templates/revisions.html"))
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	err := page.ExecuteTemplate(io.Discard, "main", revisionsBody{
		localizer: localizer{Lang: "es"}, Def: def, Signal: &view.Signal{Definition: def, Snapshot: view.SignalSnapshot{ID: def.ID, Name: def.Name}},
		Rows:   []view.Vintage{{KnownAt: day, Added: 1, Revised: 2}},
		Latest: []view.HistoryPoint{{ObservedAt: day, PublishedAt: day, Value: 1, Vintage: 2}},
	})
	if err != nil {
		t.Error(err)
	}
}
