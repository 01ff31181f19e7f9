package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/api"
	"tidemark/api/view"
	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// about is a reading of the day that the snapshots of these tests are about, or some days before.
func about(daysBefore int, value float64) series.Reading {
	return series.Reading{Series: "up.one", ObservedAt: time.Date(2026, time.March, 2-daysBefore, 0, 0, 0, 0, time.UTC), Value: value}
}

// startEvidence is a system with a snapshot, and with the bodies that its number rests on.
func startEvidence(t *testing.T, snapshot postgres.Snapshot) (f *rawFixture, first, second string) {
	t.Helper()
	f = &rawFixture{system: start(t, setup{stored: []postgres.Snapshot{snapshot}}), archive: map[string][]byte{}}
	_, first = f.fetched("open", "https://upstream.example/a", strings.Repeat("day,value\n", 400), before.Add(-time.Hour), about(1, 20.5))
	_, second = f.fetched("open", "https://upstream.example/b", "day,value\n2026-03-02,22.5\n", before, about(0, 22.5))
	return f, first, second
}

func TestTheEvidenceOfANumberNamesTheBodiesThatItRestsOn(t *testing.T) {
	t.Parallel()
	f, first, second := startEvidence(t, full())
	a := f.ask(http.MethodGet, "/evidence/crack-spread-321/latest")
	for _, want := range []string{
		`href="/raw/` + first + `"`, `href="/raw/` + second + `"`, "https://upstream.example/a", ">4,000<", "(22.5 − 20) / 2", "100 × (22.5 / 20 − 1)",
		`data-cell="` + second + `"`, `tidemark explain <span class="option">--url</span> ` + f.url + ` crack-spread-321 <span class="option">--date</span> 2026-03-02`,
	} {
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), want) {
			t.Errorf("%s, lacks %q", a.Status, want)
		}
	}
	// Another program computed the snapshot: it counted 105 values.
	if !strings.Contains(string(a.body), "Another version of the program") {
		t.Error("the page does not say that its formula gives other numbers than the snapshot has")
	}
}

func TestEvidenceAsJSONHasEachCellAndItsBody(t *testing.T) {
	t.Parallel()
	snapshot := full()
	snapshot.N, snapshot.Lo, snapshot.Hi = 0, new(0.0), new(0.0) // as its formula makes them
	f, first, second := startEvidence(t, snapshot)
	var whole map[string]any
	for _, query := range []string{"", "?date=2026-03-02", "?date=2026-03-03", "?as_of=2026-03-04T11:00:00Z"} {
		got := f.get("/api/signals/crack-spread-321/evidence" + query)
		if got["recomputed"] != true || got["as_of"] != "2026-03-04T11:00:00Z" {
			t.Errorf("%q: %v", query, got)
		}
		whole = got
	}
	cells, _ := whole["value_cells"].([]any)
	bodies, _ := whole["bodies"].([]any)
	if len(cells) != 2 || len(bodies) != 2 {
		t.Fatalf("%v", whole)
	}
	want := map[string]any{
		"series": "up.one", "observed_at": "2026-03-02T00:00:00Z", "value": 22.5, "published_at": "2026-03-04T09:00:00Z", "published_at_assumed": false, "sha256": second,
	}
	for name, v := range want {
		if got := cells[1].(map[string]any)[name]; got != v {
			t.Errorf("%s is %v, want %v", name, got, v)
		}
	}
	if b := bodies[0].(map[string]any); b["sha256"] != first || b["bytes"] != 4000.0 || b["raw_url"] != f.url+"/raw/"+first || b["source"] != "open" {
		t.Errorf("%v", b)
	}
	for path, status := range map[string]int{
		"/api/signals/crack-spread-321/evidence?date=yesterday":  http.StatusBadRequest,
		"/api/signals/crack-spread-321/evidence?date=2020-01-01": http.StatusNotFound,
		"/api/signals/lng-arbitrage/evidence":                    http.StatusNotFound,
		"/api/signals/lng-arbitrage/inputs":                      http.StatusNotFound,
		"/api/signals/crack-spread-321/inputs?as_of=2020-01-01":  http.StatusNotFound,
	} {
		if a := f.ask(http.MethodGet, path); a.StatusCode != status {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
}

// A body may still state an observation that its publisher took back later: the evidence names both.
func TestEvidenceNamesWhatPublishersTookBack(t *testing.T) {
	t.Parallel()
	f, first, second := startEvidence(t, full())
	_, third := f.fetched("open", "https://upstream.example/c", "day,value\n2026-03-01,W\n", before.Add(time.Minute), series.Reading{
		Series: "up.one", ObservedAt: about(1, 0).ObservedAt, Marker: "W",
	})
	// What was never a number, came after the snapshot or is of a later day is none.
	f.fetched("open", "https://upstream.example/d", "older", before.Add(time.Minute), series.Reading{Series: "up.one", ObservedAt: about(9, 0).ObservedAt, Marker: "W"})
	f.fetched("open", "https://upstream.example/e", "news", later, series.Reading{Series: "up.one", ObservedAt: about(0, 0).ObservedAt, Marker: "W"})
	f.fetched("open", "https://upstream.example/f", "next", before.Add(time.Minute), about(-1, 3))
	f.fetched("open", "https://upstream.example/g", "next gone", before.Add(2*time.Minute), series.Reading{Series: "up.one", ObservedAt: about(-1, 0).ObservedAt, Marker: "W"})
	got := f.get("/api/signals/crack-spread-321/evidence?as_of=2026-03-04T11:00:00Z")
	want := []any{map[string]any{
		"series": "up.one", "observed_at": "2026-03-01T00:00:00Z", "withdrawn_at": "2026-03-04T09:01:00Z", "marker": "W", "sha256": third,
	}}
	if d := cmp.Diff(want, got["withdrawn"]); d != "" {
		t.Errorf("withdrawn (-want +got):\n%s", d)
	}
	var sums []string
	for _, b := range got["bodies"].([]any) {
		sums = append(sums, b.(map[string]any)["sha256"].(string))
	}
	if d := cmp.Diff([]string{second, third}, sums); d != "" {
		t.Errorf("bodies (-want +got), of which %s stated what was taken back:\n%s", first, d)
	}
}

// Provenance names all bodies: their number, the root of their tree and a list of them. The root can be computed from the list.
func TestProvenanceIsOfEveryBody(t *testing.T) {
	t.Parallel()
	f, first, second := startEvidence(t, full())
	// Old values in a separate body, and a body that only repeats another one.
	_, third := f.fetched("open", "https://upstream.example/c", "older values", before.Add(time.Minute), about(2, 20.1), about(3, 20.2))
	f.fetched("open", "https://upstream.example/d", "older values", before.Add(2*time.Minute), about(4, 20.3))
	// Later bodies are not in the snapshot.
	f.fetched("open", "https://upstream.example/e", "news", later, series.Reading{Series: "up.one", ObservedAt: noon, Value: 30})
	list := f.get("/api/signals/crack-spread-321/inputs")
	data, _ := list["data"].([]any)
	var sums []string
	observations := 0.0
	for _, d := range data {
		body := d.(map[string]any)
		sums = append(sums, body["sha256"].(string))
		observations += body["observations"].(float64)
		if assumed := body["sha256"] == first; body["published_at_assumed"] != assumed { // the others were seen to come
			t.Errorf("the publication of %s at %v is said to be assumed: %v", body["url"], body["published_at"], body["published_at_assumed"])
		}
	}
	if len(sums) != 3 || sums[0] != first || sums[1] != second || sums[2] != third || list["count"] != 3.0 || observations != 5 {
		t.Fatalf("%v", list)
	}
	// Three leaves: the first two are below one node (RFC 6962, section 2.1).
	hash := func(parts ...[]byte) []byte {
		h := sha256.New()
		for _, p := range parts {
			_, _ = h.Write(p)
		}
		return h.Sum(nil)
	}
	leaf := func(sum string) []byte {
		raw, err := hex.DecodeString(sum)
		if err != nil {
			t.Fatal(err)
		}
		return hash([]byte{0}, raw)
	}
	root := hex.EncodeToString(hash([]byte{1}, hash([]byte{1}, leaf(first), leaf(second)), leaf(third)))
	if list["merkle_root"] != root {
		t.Errorf("the root is %v, want %s", list["merkle_root"], root)
	}
	// The snapshot carries the same, also as it was known at its instant.
	s := f.get("/api/signals/crack-spread-321?as_of=2026-03-04T11:00:00Z")
	p, _ := s["provenance"].(map[string]any)
	inputs, _ := p["inputs"].([]any)
	if p["count"] != 3.0 || p["merkle_root"] != root || len(inputs) != 3 || inputs[0].(map[string]any)["sha256"] != third {
		t.Errorf("%v", p)
	}
	again := f.ask(http.MethodGet, strings.TrimPrefix(p["url"].(string), f.url))
	if body := f.object(again); body["merkle_root"] != root {
		t.Errorf("%s: %v", p["url"], body)
	}
}

// A publisher may take a change back, and send the same bytes again: the list has them once, with each time at which they brought something.
func TestABodyThatCameTwiceIsListedWithBothTimes(t *testing.T) {
	t.Parallel()
	f, _, second := startEvidence(t, full())
	f.fetched("open", "https://upstream.example/b", "day,value\n2026-03-02,23.5\n", before.Add(time.Minute), about(0, 23.5))
	f.fetched("open", "https://upstream.example/b", "day,value\n2026-03-02,22.5\n", before.Add(2*time.Minute), about(0, 22.5))
	for _, d := range f.get("/api/signals/crack-spread-321/inputs")["data"].([]any) {
		want := []any{}
		if body := d.(map[string]any); body["sha256"] == second {
			want = append(want, before.Add(2*time.Minute).Format(time.RFC3339))
			if body["retrieved_at"] != before.Format(time.RFC3339) || body["observations"] != 1.0 {
				t.Errorf("%v, want its first time and one observation", body)
			}
		}
		if diff := cmp.Diff(any(want), d.(map[string]any)["retrieved_again"]); diff != "" {
			t.Errorf("%v (-want +got):\n%s", d, diff)
		}
	}
}

// The served snapshot names the bodies of the observations that came with it. Where none came, it keeps the bodies of the one before.
func TestEachNewSnapshotNamesTheBodiesThatCameWithIt(t *testing.T) {
	t.Parallel()
	f, _, _ := startEvidence(t, full())
	await := func(at time.Time, count float64) (root string) {
		t.Helper()
		next := full()
		next.At = at
		f.save(next)
		f.eventually("the snapshot of "+at.Format(time.TimeOnly), func() bool {
			return f.get("/api/signals/crack-spread-321")["as_of"] == at.Format(time.RFC3339)
		})
		p, _ := f.get("/api/signals/crack-spread-321")["provenance"].(map[string]any)
		list := f.get(strings.TrimPrefix(p["url"].(string), f.url)) // read again from the database
		if p["count"] != count || p["count"] != list["count"] || p["merkle_root"] != list["merkle_root"] {
			t.Errorf("at %s: %v, the list has %v with the root %v, want %v", at, p, list["count"], list["merkle_root"], count)
		}
		return list["merkle_root"].(string)
	}
	first := await(noon.Add(-50*time.Minute), 2)
	if same := await(noon.Add(-40*time.Minute), 2); same != first {
		t.Errorf("nothing came, and the root is %s after %s", same, first)
	}
	f.fetched("open", "https://upstream.example/c", "older values", before.Add(time.Minute), about(2, 20.1))
	await(noon.Add(-30*time.Minute), 3)
}

func TestAPlaceLeadsToAValueInTheBytes(t *testing.T) {
	t.Parallel()
	f := startRaw(t)
	const body = "day,value\r\n2026-02-20,20.5\r\n"
	f.serve(api.Options{View: f.view, Raw: &api.RawOptions{
		Store: f.open(postgres.RoleAPI),
		Get:   f.stored,
		Locate: func(b postgres.RawBody, bytes []byte, id series.ID, at time.Time) (view.RawPlace, bool) {
			if b.URL != "https://upstream.example/a" || id != "up.one" || at.Day() != 20 {
				return view.RawPlace{}, false
			}
			return view.RawPlace{Offset: strings.Index(string(bytes), "20.5"), Length: 4, Where: "line 2"}, true
		},
		Sources: map[string]api.RawSource{"open": {Shown: true}, "shut": {Publisher: "A trader", License: "no redistribution"}},
	}})
	_, digest := f.fetched("open", "https://upstream.example/a", body, before, up(20, 20.5))
	_, shut := f.fetched("shut", "https://trader.example/a", "secret", before, up(21, 1))
	got := f.get("/raw/" + digest + "/place?series=up.one&observed_at=2026-02-20")
	at, _ := got["offset"].(float64)
	if body[int(at):int(at)+4] != "20.5" || got["length"] != 4.0 || got["part"] != "" || got["where"] != "line 2" || got["sha256"] != digest {
		t.Errorf("%v", got)
	}
	for path, status := range map[string]int{
		"/raw/" + digest + "/place?series=up.one&observed_at=2026-02-21":                  http.StatusNotFound,
		"/raw/" + digest + "/place?series=up.one":                                         http.StatusBadRequest,
		"/raw/" + digest + "/place?observed_at=2026-02-20":                                http.StatusBadRequest,
		"/raw/" + shut + "/place?series=up.one&observed_at=2026-02-21":                    http.StatusUnavailableForLegalReasons,
		"/raw/" + strings.Repeat("0", 64) + "/place?series=up.one&observed_at=2026-02-21": http.StatusNotFound,
	} {
		if a := f.ask(http.MethodGet, path); a.StatusCode != status {
			t.Errorf("%s: %s, want %d", path, a.Status, status)
		}
	}
}

// A first load and a release of several days bring numbers that no snapshot ever had as its newest. The history shows them, so they have evidence, too:
// of the snapshot that shows them now, with a word that says so.
func TestADayThatOnlyTheHistoryShowsHasEvidence(t *testing.T) {
	t.Parallel()
	snapshot := full()
	snapshot.N, snapshot.Lo, snapshot.Hi = 0, new(0.0), new(0.0) // as its formula makes them
	f, first, second := startEvidence(t, snapshot)
	point := func(daysBefore int, value float64) signals.Estimate {
		r := about(daysBefore, value)
		return signals.Estimate{ObservedAt: series.InstantOf(r.ObservedAt), KnownAt: series.InstantOf(before), Value: r.Value, Baseline: 20, Scale: 2}
	}
	if err := f.worker.SaveSnapshot(t.Context(), task.Fence{}, snapshot, signals.Track{point(1, 20.5), point(0, 22.5)}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the history", func() bool {
		return strings.Contains(string(f.ask(http.MethodGet, "/api/signals/crack-spread-321/history").body), "2026-03-01")
	})
	for lang, want := range map[string]string{
		"en": "This figure was never the newest: it arrived together with later ones. It is shown as it stood in the history on March 4, 2026.",
		"es": "Esta cifra nunca fue la más reciente: llegó junto con otras posteriores. Se muestra tal como figuraba en la serie histórica el 4 de marzo de 2026.",
		"pt": "Este número nunca foi o mais recente: chegou junto com outros posteriores. É exibido como constava na série histórica em 4 de março de 2026.",
		"hi": "यह आँकड़ा कभी सबसे नया नहीं रहा: यह बाद के आँकड़ों के साथ आया। इसे वैसे दिखाया गया है, जैसा यह 4 मार्च 2026 को इतिहास में दर्ज था।",
	} {
		got := f.get("/api/signals/crack-spread-321/evidence?date=2026-03-01&lang=" + lang)
		numbers, _ := got["numbers"].(map[string]any)
		if got["newest"] != false || got["history_text"] != want || got["other_day"] != nil || got["as_of"] != "2026-03-04T11:00:00Z" || got["served_at"] == nil ||
			got["observed_at"] != "2026-03-01T00:00:00Z" || numbers["value"] != 20.5 || numbers["z_score"] != 0.25 || got["recomputed"] != true {
			t.Errorf("%s: %v", lang, got)
		}
		if cells, _ := got["value_cells"].([]any); len(cells) != 1 || cells[0].(map[string]any)["sha256"] != first {
			t.Errorf("%s: cells %v, want the one of %s", lang, cells, first)
		}
		if parts, _ := got["component_cells"].([]any); len(parts) > 0 {
			t.Errorf("%s: the components are those of the newest data: %v", lang, parts)
		}
		a := f.ask(http.MethodGet, "/evidence/crack-spread-321/2026-03-01?lang="+lang)
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), want) || !strings.Contains(string(a.body), `data-cell="`+first+`"`) {
			t.Errorf("%s: %s, the page does not say %q, or does not lead to the cell", lang, a.Status, want)
		}
	}
	// Without a day, and of the day that the snapshot is about, nothing changes.
	for _, query := range []string{"", "?date=2026-03-02"} {
		if got := f.get("/api/signals/crack-spread-321/evidence" + query); got["newest"] != true || got["history_text"] != nil || got["observed_at"] != "2026-03-02T00:00:00Z" {
			t.Errorf("%q: %v", query, got)
		}
	}
	if a := f.ask(http.MethodGet, "/evidence/crack-spread-321/2026-03-02"); strings.Contains(string(a.body), "never the newest") || !strings.Contains(string(a.body), second) {
		t.Error("the page of the newest number says that it was not, or lacks its body")
	}
	// Before the history there is nothing: its first day is named.
	for _, path := range []string{"/api/signals/crack-spread-321/evidence?date=2026-02-28", "/evidence/crack-spread-321/2026-02-28"} {
		if a := f.ask(http.MethodGet, path); a.StatusCode != http.StatusNotFound || !strings.Contains(string(a.body), "2026-03-01") && !strings.Contains(string(a.body), "March 1, 2026") {
			t.Errorf("%s: %s, lacks the first day of the history", path, a.Status)
		}
	}
}

// A revision changes the numbers of a day that was the newest. Its evidence is that of the asked state, says that the numbers have changed, and
// leads to those that were shown first.
func TestTheEvidenceOfARevisedDayIsThatOfTheAskedState(t *testing.T) {
	t.Parallel()
	snapshot := full()
	snapshot.At, snapshot.N, snapshot.Lo, snapshot.Hi = snapshot.At.AddDate(0, 0, -1), 0, new(0.0), new(0.0) // as its formula makes them
	f := &rawFixture{system: start(t, setup{}), archive: map[string][]byte{}}
	first := before.AddDate(0, 0, -1)
	f.fetched("open", "https://upstream.example/a", "day,value\n2026-03-01,20.5\n", first, about(1, 20.5))
	_, second := f.fetched("open", "https://upstream.example/b", "day,value\n2026-03-02,22.5\n", first, about(0, 22.5))
	point := func(daysBefore int, value float64, known time.Time) signals.Estimate {
		return signals.Estimate{ObservedAt: series.InstantOf(about(daysBefore, value).ObservedAt), KnownAt: series.InstantOf(known), Value: value, Baseline: 20, Scale: 2}
	}
	old := signals.Track{point(1, 20.5, first), point(0, 22.5, first)}
	if err := f.worker.SaveSnapshot(t.Context(), task.Fence{}, snapshot, old); err != nil {
		t.Fatal(err)
	}
	came := snapshot.At.Add(24*time.Hour + 20*time.Minute)
	_, third := f.fetched("open", "https://upstream.example/c", "day,value\n2026-03-02,23.5\n2026-03-03,21\n", came, about(0, 23.5), about(-1, 21))
	next := snapshot
	next.At, next.Value, next.Z, next.DeltaPct = came.Add(10*time.Minute+time.Microsecond), new(21.0), new(0.5), new(5.0)
	next.ObservedAt, next.KnownAt = new(about(-1, 21).ObservedAt), new(came)
	if err := f.worker.SaveSnapshot(t.Context(), task.Fence{}, next, signals.Track{old[0], point(0, 23.5, came), point(-1, 21, came)}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the newer snapshot", func() bool { return f.get(crack)["value"] == 21.0 })
	for query, want := range map[string]struct {
		value  float64
		newest bool
		body   string
	}{
		"?date=2026-03-02": {23.5, false, third},
		"?date=2026-03-02&as_of=2026-03-04T11:10:00Z": {22.5, true, second},
		"?date=2026-03-02&as_of=2026-03-04T11:40:00Z": {23.5, false, third},
		"?date=2026-03-03&as_of=2026-03-04T11:40:00Z": {21, true, third},
	} {
		got := f.get(crack + "/evidence" + query)
		cells, _ := got["value_cells"].([]any)
		if n, _ := got["numbers"].(map[string]any); n["value"] != want.value || got["newest"] != want.newest || (got["history_text"] == nil) != want.newest || got["recomputed"] != true ||
			len(cells) == 0 || cells[len(cells)-1].(map[string]any)["sha256"] != want.body {
			t.Errorf("%s: %v", query, got)
		}
	}
	for _, lang := range []string{"en", "es", "pt", "hi"} {
		page := string(f.ask(http.MethodGet, "/evidence/crack-spread-321/2026-03-02?lang="+lang).body)
		said, _, _ := strings.Cut(languages.Or(locale.Lang(lang)).Words["day.changed"], "%s")
		for _, want := range []string{said, `href="/evidence/crack-spread-321/2026-03-02?as_of=2026-03-03`, `data-cell="` + third, `<span class="option">--as-of</span> 2026-03-04T11:30:00.000001Z`, "/evidence?date=2026-03-02&amp;as_of=2026-03-04T11:30:00.000001Z"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page lacks %q", lang, want)
			}
		}
	}
}

// A day without a number is never answered with another day's number in silence. Page and API say which day they show, in the reader's
// language, and link the days around it.
func TestADayWithoutANumberIsNamedAndNotReplacedInSilence(t *testing.T) {
	t.Parallel()
	f, _, _ := startEvidence(t, full())
	canonical := map[string]string{"es": "?lang=es", "pt": "?lang=pt", "hi": "?lang=hi"}
	heading := map[string]string{"en": ">What the baseline rests on<", "es": ">En qué se apoya la referencia<", "pt": ">Em que a referência se apoia<", "hi": ">आधार किस पर टिका है<"}
	for lang, want := range map[string]string{
		"en": "No value for March 3, 2026; showing March 2, 2026 instead.",
		"es": "No hay valor para el 3 de marzo de 2026; se muestra el del 2 de marzo de 2026.",
		"pt": "Não há valor para 3 de março de 2026; é exibido o de 2 de março de 2026.",
		"hi": "3 मार्च 2026 का कोई मान नहीं है; यहाँ 2 मार्च 2026 का मान है।",
	} {
		got := f.get("/api/signals/crack-spread-321/evidence?date=2026-03-03&lang=" + lang)
		other, _ := got["other_day"].(map[string]any)
		if other["asked"] != "2026-03-03" || other["shown"] != "2026-03-02" || other["later"] != nil || other["text"] != want {
			t.Errorf("%s: %v, want %q", lang, other, want)
		}
		a := f.ask(http.MethodGet, "/evidence/crack-spread-321/2026-03-03?lang="+lang)
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), want) || !strings.Contains(string(a.body), `href="/evidence/crack-spread-321/2026-03-02`) ||
			!strings.Contains(string(a.body), `rel="canonical" href="`+f.url+`/evidence/crack-spread-321/2026-03-02`+canonical[lang]+`"`) || !strings.Contains(string(a.body), heading[lang]) {
			t.Errorf("%s: the page does not say %q, or does not lead to the day", lang, want)
		}
	}
	for _, path := range []string{"/api/signals/crack-spread-321/evidence?date=2026-03-02", "/api/signals/crack-spread-321/evidence"} {
		if got := f.get(path); got["other_day"] != nil {
			t.Errorf("%s: %v", path, got["other_day"])
		}
	}
	if a := f.ask(http.MethodGet, "/evidence/crack-spread-321/2026-03-02"); strings.Contains(string(a.body), "No value for") {
		t.Error("the page of a day with a number says that it has none")
	}
	for path, want := range map[string]string{
		"/api/signals/crack-spread-321/evidence?date=2020-01-01": "The first is about 2026-03-02.",
		"/evidence/crack-spread-321/2020-01-01?lang=pt":          "Nenhum número se refere a 1º de janeiro de 2020 ou a um dia anterior. <a href=\"/evidence/crack-spread-321/2026-03-02?lang=pt\">Seguinte: 2 de março de 2026</a>",
		"/evidence/crack-spread-321/2020-01-01":                  `<a href="/evidence/crack-spread-321/2026-03-02">Later: March 2, 2026</a>`,
	} {
		if a := f.ask(http.MethodGet, path, "Accept", browser); a.StatusCode != http.StatusNotFound || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %s, lacks %q", path, a.Status, want)
		}
	}
}
