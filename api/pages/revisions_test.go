package pages

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/signals"
)

// A revised point is on the page of revisions with its first value and the difference. In its first days, a sandbox rarely has revisions.
func TestTheRevisionsOfASignalAreAPage(t *testing.T) {
	t.Parallel()
	def := signals.All()[0]
	page := template.Must(template.New("layout.html").Funcs(functions).Funcs(template.FuncMap{"static": func(name string) string { return name }}).
		ParseFS(files, "templates/layout.html", "templates/parts.html", "templates/revisions.html"))
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	err := page.ExecuteTemplate(&out, "main", revisionsBody{
		localizer: localizer{Lang: "es"}, Def: def, Signal: &view.Signal{Definition: def, Snapshot: view.SignalSnapshot{ID: def.ID, Name: def.Name}},
		Rows: []view.Vintage{{KnownAt: day, Added: 1, Revised: 2}},
		Latest: []revisedPoint{
			{view.HistoryPoint{ObservedAt: day, PublishedAt: day, Value: 18.34, Vintage: 2}, 19.46},
			{view.HistoryPoint{ObservedAt: day, PublishedAt: day, Value: 3, Vintage: 3}, math.NaN()},
			{view.HistoryPoint{ObservedAt: day, PublishedAt: day, Value: 7, Vintage: 3}, 7},
			{view.HistoryPoint{ObservedAt: day, PublishedAt: day, Value: 8.02, Vintage: 2}, 8.01},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]any{
		{"19,5", "18,3", "−1,2"},
		{"desconocido", "3,0", "desconocido"},
		{"7,0", "7,0", "0,0<br><small>hubo otro valor entre ambos</small>"},
		{"8,0", "8,0", "0,0<br><small>menor que el último dígito</small>"},
	} {
		const row = `<td class="num" data-head="Primera publicación">%s</td><td class="num" data-head="Valor actual">%s</td><td class="num below" data-head="Diferencia">%s</td>`
		if row := fmt.Sprintf(row, want...); !strings.Contains(out.String(), row) {
			t.Errorf("no row has %v: %s", want, out.String())
		}
	}
}

func TestOnlyAPointWithARecordedFirstPrintIsInTheListOfRevisions(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC) }
	list := []revisedPoint{{view.HistoryPoint{ObservedAt: day(4), Value: 5, Vintage: 2}, math.NaN()}, {view.HistoryPoint{ObservedAt: day(3), Value: 6, Vintage: 2}, math.NaN()}}
	if got := withFirst(list, []view.HistoryPoint{{ObservedAt: day(3), Value: 7, Vintage: 1}}); len(got) != 1 || got[0].Value != 6 || got[0].First != 7 {
		t.Errorf("the list is %+v", got)
	}
	if got := withFirst(list, nil); got != nil {
		t.Errorf("where nothing was recorded as it came, the list is %+v", got)
	}
}
