package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

var _ view.Store = (*postgres.DB)(nil)

// Kinds of JSON values, with the names of the interface specification's tables.
func isString(v any) bool { _, ok := v.(string); return ok }
func isNumber(v any) bool { _, ok := v.(float64); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }
func isStatus(v any) bool { return v == "live" || v == "decayed" || v == "deprecated" }

func orNull(is func(any) bool) func(any) bool {
	return func(v any) bool { return v == nil || is(v) }
}

func checkFields(t *testing.T, got map[string]any, want map[string]func(any) bool) {
	t.Helper()
	for name, is := range want {
		v, present := got[name]
		if !present {
			t.Errorf("%s is missing", name)
		} else if !is(v) {
			t.Errorf("%s = %v, of the wrong kind", name, v)
		}
	}
}

var snapshotFields = map[string]func(any) bool{
	"id": isString, "name": isString, "domain": isString, "unit": isString, "status": isStatus,
	"observed_at": orNull(isTime), "ingested_at": orNull(isTime),
	"value": orNull(isNumber), "uncertainty_lo": orNull(isNumber), "uncertainty_hi": orNull(isNumber),
	"baseline_value": orNull(isNumber), "baseline_method": isString,
	"delta_vs_baseline_pct": orNull(isNumber), "z_score": orNull(isNumber), "backtest": orNull(isObject),
	"source_url": isURL, "license": isString, "brief_url": isURL, "page_url": isURL, "json_ld": isObject, "disclaimer": isString,
}

func TestSnapshotHasEveryFieldOfTheSpecification(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	tests := map[string]struct {
		id   string
		want map[string]any // members with a known value
	}{
		"a complete snapshot": {"crack-spread-321", map[string]any{
			"id": "crack-spread-321", "name": "3:2:1 crack spread", "domain": "energy", "unit": "USD/bbl", "status": "live",
			"observed_at": "2026-03-02T00:00:00Z", "ingested_at": "2026-03-04T10:30:15Z",
			"published_at": "2026-03-04T10:30:15Z", "published_at_assumed": false, "as_of": "2026-03-04T11:00:00Z",
			"value": 22.5, "uncertainty_lo": 21.25, "uncertainty_hi": 23.75, "uncertainty_level": 0.9,
			"uncertainty": map[string]any{
				"level": 0.9, "level_pct": 90.0, "bounds": "next_first_print", "basis": "measured", "method": "random_walk",
				"text": "Bounds the next price. Built to hold 90%. Measured: it held 36 of 40 (90.0%; 95% confidence interval 76.3% to 97.2%)." +
					" In the last two years: 8 of 10 (80.0%; 95% confidence interval 44.4% to 97.5%).",
				"record": map[string]any{
					"cases": 40.0, "hits": 36.0, "coverage": 0.9, "coverage_ci95": []any{0.763, 0.972},
					"last_2y": map[string]any{"cases": 10.0, "hits": 8.0, "coverage": 0.8, "coverage_ci95": []any{0.444, 0.975}},
				},
			},
			"baseline_value": 20.0, "baseline_method": "same_week_5y_mean", "delta_vs_baseline_pct": 12.5, "z_score": 1.25,
			"backtest": nil, "source_url": "https://upstream.example/data?a=1&b=2", "license": "Public domain; acknowledgement requested",
			"page_url": s.url + "/signals/crack-spread-321", "brief_url": s.url + "/signals/crack-spread-321/brief",
			"disclaimer": "Editorial information, not personalized investment advice.",
			"frequency":  "daily", "synthetic": false, "environment": "live",
			"freshness": map[string]any{"state": "fresh", "max_age_seconds": 432000.0},
			"components": []any{map[string]any{
				"name": "wti", "label": "WTI, Cushing", "unit": "USD/bbl", "observed_at": "2026-03-02T00:00:00Z", "value": 71.5,
				"baseline_value": 70.0, "delta_vs_baseline_pct": 2.14285714286, "z_score": nil,
			}},
			"provenance": map[string]any{
				"code_version": "3f2c1a", "run_id": nil, "count": 1.0,
				"merkle_root": "86754e71ab90f305c4faa7eee57b41b89e49ebcdf03a745c855ee611e4597237",
				"url":         s.url + "/api/signals/crack-spread-321/inputs?as_of=2026-03-04T11:00:00Z",
				"inputs": []any{map[string]any{
					"source": "up", "url": "https://upstream.example/file?x=1&y=2", "retrieved_at": "2026-03-04T10:30:15Z",
					"sha256": strings.Repeat("ab", 32),
				}},
			},
		}},
		"what is unknown is null": {"hormuz-transit", map[string]any{
			"status": "live", "observed_at": "2026-03-01T00:00:00Z", "value": 88.0, "uncertainty_lo": nil, "uncertainty_hi": nil,
			"baseline_value": nil, "delta_vs_baseline_pct": nil, "z_score": nil, "backtest": nil, "components": []any{},
			"uncertainty": map[string]any{
				"level": nil, "level_pct": 90.0, "bounds": "true_value", "basis": "assumed", "method": "random_walk",
				"text": "Bounds the true number of ships. Assumed: that value is never observed, so no probability is claimed.", "record": nil,
			},
		}},
		"a signal that was never computed": {"lng-arbitrage", map[string]any{
			"status": "decayed", "observed_at": nil, "ingested_at": nil, "as_of": nil, "value": nil, "uncertainty_lo": nil,
			"uncertainty_hi": nil, "baseline_value": nil, "delta_vs_baseline_pct": nil, "z_score": nil, "backtest": nil,
			"components": []any{}, "provenance": map[string]any{
				"inputs": []any{}, "code_version": nil, "run_id": nil, "count": 0.0, "merkle_root": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "url": s.url + "/api/signals/lng-arbitrage/inputs",
			},
			"freshness": map[string]any{"state": "unknown", "max_age_seconds": 3456000.0},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := s.get("/api/signals/" + tt.id)
			checkFields(t, got, snapshotFields)
			part := map[string]any{}
			for k := range tt.want {
				part[k] = got[k]
			}
			if diff := cmp.Diff(tt.want, part); diff != "" {
				t.Errorf("GET /api/signals/%s (-want +got):\n%s", tt.id, diff)
			}
		})
	}
}

func TestCatalogListsTheLiveSignals(t *testing.T) {
	t.Parallel()
	decayed := partial()
	decayed.ObservedAt = new(noon.AddDate(0, 0, -11)) // a day older than the limit
	s := start(t, setup{stored: []postgres.Snapshot{full(), decayed}})

	got := s.get("/api/signals")
	checkFields(t, got, map[string]func(any) bool{"product": isString, "count": isNumber})
	want := []any{map[string]any{
		"id": "crack-spread-321", "domain": "energy", "name": "3:2:1 crack spread", "unit": "USD/bbl", "status": "live",
		"page_url": s.url + "/signals/crack-spread-321", "brief_url": s.url + "/signals/crack-spread-321/brief",
		"machine_url": s.url + "/api/signals/crack-spread-321", "source_url": "https://upstream.example/data?a=1&b=2",
		"license":     "Public domain; acknowledgement requested",
		"observed_at": "2026-03-02T00:00:00Z", "value": 22.5, "z_score": 1.25, "synthetic": false,
	}}
	if diff := cmp.Diff(want, got["signals"]); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
	if got["count"] != 1.0 {
		t.Errorf("count = %v, want 1", got["count"])
	}
	plain, slash := s.ask(http.MethodGet, "/api/signals"), s.ask(http.MethodGet, "/api/signals/")
	if slash.StatusCode != http.StatusOK || string(slash.body) != string(plain.body) {
		t.Errorf("with a slash at its end the address answers %s with other bytes", slash.Status)
	}
	if got := s.get("/api/signals/hormuz-transit"); got["status"] != "decayed" || got["value"] != 88.0 {
		t.Errorf("the decayed signal says %v, %v, want decayed with its last value 88", got["status"], got["value"])
	}
}

func TestDeprecatedSignalKeepsAnswering(t *testing.T) {
	t.Parallel()
	old := full()
	old.Status = signals.StatusDeprecated
	s := start(t, setup{stored: []postgres.Snapshot{old, partial()}})
	if diff := cmp.Diff([]string{"hormuz-transit"}, s.ids()); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
	if got := s.get("/api/signals/crack-spread-321"); got["status"] != "deprecated" || got["value"] != 22.5 {
		t.Errorf("it says %v, %v, want deprecated with its last value 22.5", got["status"], got["value"])
	}
}

func TestSignalDecaysAsTimeGoesBy(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{partial(), full()}})
	if diff := cmp.Diff([]string{"crack-spread-321", "hormuz-transit"}, s.ids()); diff != "" {
		t.Fatalf("catalog in the order of the definitions (-want +got):\n%s", diff)
	}
	before := s.ask(http.MethodGet, "/api/signals/crack-spread-321")
	edge := full().ObservedAt.Add(5 * 24 * time.Hour) // exactly as old as the limit
	s.clock.Store(&edge)
	late := edge.Add(time.Second)
	s.clock.Store(&late)
	s.eventually("the crack spread to leave the catalog", func() bool { return len(s.ids()) == 1 })
	after := s.get("/api/signals/crack-spread-321")
	if after["status"] != "decayed" || after["value"] != 22.5 || after["freshness"].(map[string]any)["state"] != "stale" {
		t.Errorf("it says %v, %v, %v, want decayed, stale, with its last value", after["status"], after["value"], after["freshness"])
	}
	again := s.ask(http.MethodGet, "/api/signals/crack-spread-321", "If-None-Match", before.Header.Get("ETag"))
	if again.StatusCode != http.StatusOK {
		t.Errorf("with the ETag of the live answer: %s, want 200", again.Status)
	}
}

func TestSnapshotAheadOfTheWorldWaitsForItsTime(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	next := full()
	next.At, next.Value = noon.Add(time.Hour), new(30.0)
	s.save(next)
	other := partial()
	s.save(other) // its notification follows the one before, so that one has arrived, too
	s.eventually("the snapshot saved last", func() bool { return len(s.ids()) == 2 })
	if got := s.get("/api/signals/crack-spread-321")["value"]; got != 22.5 {
		t.Errorf("before its time the value is %v, want 22.5", got)
	}
	s.clock.Store(&next.At)
	s.eventually("the snapshot to come into its time", func() bool { return s.get("/api/signals/crack-spread-321")["value"] == 30.0 })
}

func TestCommitIsVisible(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	before := s.ask(http.MethodGet, "/api/signals/crack-spread-321")

	next := full()
	next.At, next.Value = noon, new(23.0)
	s.save(next)
	s.eventually("the new value", func() bool { return s.get("/api/signals/crack-spread-321")["value"] == 23.0 })
	if got := s.get("/api/signals")["signals"].([]any)[0].(map[string]any)["value"]; got != 23.0 {
		t.Errorf("the catalog says %v, want 23", got)
	}
	after := s.ask(http.MethodGet, "/api/signals/crack-spread-321", "If-None-Match", before.Header.Get("ETag"))
	if after.StatusCode != http.StatusOK {
		t.Errorf("with the ETag of the old value: %s, want 200", after.Status)
	}

	// Older data of a backfill change no byte.
	older := full()
	older.At, older.Value = noon.AddDate(0, -1, 0), new(7.0)
	s.save(older)
	s.save(partial())
	s.eventually("the snapshot saved last", func() bool { return len(s.ids()) == 2 })
	again := s.ask(http.MethodGet, "/api/signals/crack-spread-321", "If-None-Match", after.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("after an older snapshot was added: %s, want 304", again.Status)
	}
}

func TestAnswersGoOnWhilePostgresIsAway(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	db := s.database()

	// New connections are refused, and the API's connections are closed. The worker's connection stays.
	s.admin(`alter database ` + pgx.Identifier{db}.Sanitize() + ` allow_connections false`)
	s.admin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'tidemark-api'`, db)
	s.eventually("the loss to be noticed", func() bool {
		return s.ask(http.MethodGet, "/api/signals").Header.Get("X-Tidemark-Degraded") == "postgres"
	})
	next := full()
	next.At, next.Value = noon, new(24.0)
	s.save(next)

	if got := s.get("/api/signals/crack-spread-321")["value"]; got != 22.5 {
		t.Errorf("while Postgres is away the value is %v, want the last one known, 22.5", got)
	}
	if a := s.ask(http.MethodGet, "/signals/crack-spread-321"); a.StatusCode != http.StatusOK {
		t.Errorf("the page answers %s, want 200", a.Status)
	}
	if diff := cmp.Diff(map[string]any{"ok": true, "missing": []any{}, "degraded": []any{"postgres"}}, s.get("/readyz")); diff != "" {
		t.Errorf("/readyz (-want +got):\n%s", diff)
	}

	s.admin(`alter database ` + pgx.Identifier{db}.Sanitize() + ` allow_connections true`)
	s.eventually("what was committed meanwhile", func() bool { return s.get("/api/signals/crack-spread-321")["value"] == 24.0 })
	s.eventually("the mark to go", func() bool {
		return s.ask(http.MethodGet, "/api/signals").Header.Get("X-Tidemark-Degraded") == ""
	})
	last := full()
	last.At, last.Value = noon, new(25.0)
	s.save(last)
	s.eventually("notifications to work again", func() bool { return s.get("/api/signals/crack-spread-321")["value"] == 25.0 })
}

func TestSandboxSaysThatItsDataAreSynthetic(t *testing.T) {
	t.Parallel()
	made := full()
	made.Synthetic = true
	s := start(t, setup{world: view.WorldSandbox, stored: []postgres.Snapshot{made}})
	for _, id := range []string{"crack-spread-321", "lng-arbitrage"} {
		got := s.get("/api/signals/" + id)
		if got["synthetic"] != true || got["environment"] != "demo" || !strings.HasPrefix(got["disclaimer"].(string), "Synthetic data") {
			t.Errorf("%s says %v, %v, %q", id, got["synthetic"], got["environment"], got["disclaimer"])
		}
		ld := got["json_ld"].(map[string]any)
		for _, member := range []string{"name", "description"} {
			if !strings.HasPrefix(ld[member].(string), "Synthetic data") {
				t.Errorf("%s: json_ld.%s = %q, want it to begin with Synthetic data", id, member, ld[member])
			}
		}
		if from, claimed := ld["isBasedOn"]; claimed {
			t.Errorf("%s: json_ld claims to be based on %v", id, from)
		}
	}
	catalog := s.get("/api/signals")
	if catalog["environment"] != "demo" || !strings.HasPrefix(catalog["disclaimer"].(string), "Synthetic data") {
		t.Errorf("the catalog says %v, %q", catalog["environment"], catalog["disclaimer"])
	}
	for _, page := range []string{"/", "/signals/crack-spread-321", "/signals/crack-spread-321/brief", "/problems/not_found"} {
		if a := s.ask(http.MethodGet, page); !strings.Contains(string(a.body), `class="banner">Synthetic data`) {
			t.Errorf("%s has no banner", page)
		}
	}
}

func TestDatasetIsWhatDatasetSearchAsksFor(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	ld := s.get("/api/signals/crack-spread-321")["json_ld"].(map[string]any)
	checkFields(t, ld, map[string]func(any) bool{
		"@id": isURL, "url": isURL, "license": isURL, "isBasedOn": isURL, "description": func(v any) bool {
			n := len([]rune(v.(string)))
			return n >= 50 && n <= 5000
		},
		"creator": isObject, "publisher": isObject, "dateModified": isTime,
	})
	want := map[string]any{
		"@context": "https://schema.org", "@type": "Dataset", "name": "3:2:1 crack spread", "identifier": "crack-spread-321",
		"temporalCoverage": "2026-03-02", "dateModified": "2026-03-04T10:30:15Z", "isAccessibleForFree": true,
		"keywords": []any{"oil", "refining"}, "spatialCoverage": map[string]any{"@type": "Place", "name": "United States"},
		"variableMeasured": map[string]any{
			"@type": "PropertyValue", "name": "3:2:1 crack spread", "unitText": "USD/bbl", "value": 22.5,
			"measurementTechnique": "(a - b) / c",
		},
	}
	got := map[string]any{}
	for k := range want {
		got[k] = ld[k]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("json_ld (-want +got):\n%s", diff)
	}
	downloads := ld["distribution"].([]any)
	if len(downloads) == 0 {
		t.Error("there is nothing to download")
	}
	for _, d := range downloads {
		d := d.(map[string]any)
		a := s.ask(http.MethodGet, d["contentUrl"].(string))
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != d["encodingFormat"] {
			t.Errorf("%s answers %s as %s, want 200 as %s", d["contentUrl"], a.Status, a.Header.Get("Content-Type"), d["encodingFormat"])
		}
	}
	proof, _ := ld["subjectOf"].(map[string]any)
	if address, _ := proof["url"].(string); proof["@type"] != "CreativeWork" || !strings.HasSuffix(address, "/api/signals/crack-spread-321/inputs?as_of=2026-03-04T11:00:00Z") {
		t.Errorf("json_ld.subjectOf = %v, want the bodies behind this value", ld["subjectOf"])
	}
	if blank := s.get("/api/signals/lng-arbitrage")["json_ld"].(map[string]any); blank["temporalCoverage"] != nil || blank["dateModified"] != nil || blank["subjectOf"] != nil {
		t.Errorf("a signal without data claims to cover %v, proven by %v", blank["temporalCoverage"], blank["subjectOf"])
	}
}

func TestBriefIsMarkdown(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	a := s.ask(http.MethodGet, "/api/signals/crack-spread-321/brief")
	if got := a.Header.Get("Content-Type"); a.StatusCode != http.StatusOK || got != "text/markdown; charset=utf-8" {
		t.Errorf("it answers %s as %s, want 200 as Markdown", a.Status, got)
	}
	for _, want := range []string{"# 3:2:1 crack spread\n", "## How it is made\n", "Public domain; acknowledgement", "not personalized investment advice"} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("it lacks %q", want)
		}
	}
}
