package sources_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"tidemark/ingest"
	"tidemark/ingest/sources"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/config"
	"tidemark/internal/series"
)

// keyed has the form of a key to every upstream.
var keyed = config.Upstreams{EIAAPIKey: strings.Repeat("k0", 20), NASSAPIKey: "D1CA2087-5817-35BB-B266-2E5853CA5741", FREDAPIKey: strings.Repeat("k0", 16)}

// forms are the lists that an operator can have.
var forms = map[string]config.Upstreams{"keyless": {}, "keyed": keyed}

func TestEverySourceDeclaresItselfWhole(t *testing.T) {
	t.Parallel()
	idForm := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seriesForm := regexp.MustCompile(`^[a-z0-9]+(\.[A-Za-z0-9_]+)+$`)
	frequencies := map[string]bool{"daily": true, "weekly": true, "monthly": true, "quarterly": true, "annual": true, "irregular": true}
	for form, keys := range forms {
		ids := map[string]bool{}
		producer := map[series.ID]string{}
		for _, s := range sources.All(keys) {
			if !idForm.MatchString(s.ID) || ids[s.ID] {
				t.Errorf("%s: source id %q is ill-formed or taken", form, s.ID)
			}
			ids[s.ID] = true
			for what, text := range map[string]string{"name": s.Name, "publisher": s.Publisher, "licence": s.License} {
				if strings.TrimSpace(text) == "" {
					t.Errorf("%s: %s has no %s", form, s.ID, what)
				}
			}
			if u, err := url.Parse(s.HomeURL); err != nil || u.Scheme != "https" || u.Host == "" {
				t.Errorf("%s: %s has the home page %q", form, s.ID, s.HomeURL)
			}
			if s.Request == nil || s.Parse == nil || len(s.Series) == 0 {
				t.Errorf("%s: %s asks, reads or yields nothing", form, s.ID)
			}
			for _, i := range s.Series {
				if other, taken := producer[i.ID]; taken {
					t.Errorf("%s: %s is a series of %s and of %s", form, i.ID, other, s.ID)
				}
				producer[i.ID] = s.ID
				if !seriesForm.MatchString(string(i.ID)) || i.Name == "" || i.Unit == "" || !frequencies[i.Frequency] || i.Published == nil {
					t.Errorf("%s: series %+v is not declared whole", form, i)
				}
			}
			if accepted := accepting(t, s.TermsSetting); s.TermsSetting != "" && (!accepted.Accepts(s.TermsSetting) || config.Licences{}.Accepts(s.TermsSetting)) {
				t.Errorf("%s: %s asks for %s, and no operator can accept that: config.Licences has no such setting", form, s.ID, s.TermsSetting)
			}
			if s.Limits.Interval <= 0 || s.Limits.Timeout <= 0 || s.Limits.MaxBytes <= 0 || len(s.Limits.ContentTypes) == 0 {
				t.Errorf("%s: %s leaves limits open: %+v", form, s.ID, s.Limits)
			}
		}
	}
}

// accepting returns the licences of an operator who set one setting to yes, as the program reads it.
func accepting(t *testing.T, setting string) config.Licences {
	t.Helper()
	var l config.Licences
	v := reflect.ValueOf(&l).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("env") == setting {
			v.Field(i).SetString("yes")
		}
	}
	return l
}

// The inputs of the signals have measured bounds: the extremes of the record pass, the same values in another unit do not.
func TestBoundsKnowTheRecordAndAnotherUnit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id        series.ID
		low, high float64 // of the record
		other     float64 // a usual value in a likely wrong unit
		unit      string
	}{
		{"eia.RWTC", -36.98, 145.31, 7000, "cents"},
		{"eia.EER_EPMRU_PF4_Y35NY_DPG", 0.29, 4.5, 250, "cents"},
		{"eia.WCESTUS1", 246_000, 543_000, 440, "millions of barrels"},
		{"worldbank.NGAS_US", 0.14, 13.53, 300, "cents"},
		{"worldbank.NGAS_EUR", 0.38, 70.04, 350, "dollars per thousand cubic metres"},
		{"worldbank.LNG_JP", 2.72, 23.74, 430, "dollars per thousand cubic metres"},
		{"portwatch.chokepoint6.n_total", 0, 157, 30_000, "tons"},
		{"portwatch.chokepoint6.capacity_tanker", 0, 5_919_231, 3e9, "kilograms"},
		{"nass.IA.CORN.YIELD.FINAL", 15, 211, 12_500, "kilograms per hectare"},
		{"nass.IA.CORN.YIELD.FORECAST", 100, 222, 12_500, "kilograms per hectare"},
		{"nass.IA.CORN.CONDITION", 1.9, 4.3, 72, "percent"},
		{"temis.NO2.yangtze", -16.5, 668.4, 5e15, "molecules per square centimetre"},
	} {
		info := infoOf(t, c.id)
		if info.Min == nil || info.Max == nil {
			t.Errorf("%s has no bounds", c.id)
			continue
		}
		within := func(v float64) bool { return *info.Min <= v && v <= *info.Max }
		if !within(c.low) || !within(c.high) {
			t.Errorf("%s: the record, %v to %v, is not within %v to %v", c.id, c.low, c.high, *info.Min, *info.Max)
		}
		if within(c.other) {
			t.Errorf("%s: %v is within %v to %v: %s would pass", c.id, c.other, *info.Min, *info.Max, c.unit)
		}
	}
}

func infoOf(t *testing.T, id series.ID) series.Info {
	t.Helper()
	for _, s := range sources.All(config.Upstreams{}) {
		for _, i := range s.Series {
			if i.ID == id {
				return i
			}
		}
	}
	t.Fatalf("no source has the series %s", id)
	return series.Info{}
}

func TestAKeyChangesNeitherSourcesNorSeries(t *testing.T) {
	t.Parallel()
	type declared struct {
		ID      string
		Cadence series.Cadence
		License string
		Series  []series.ID
	}
	list := func(all []ingest.Source) (d []declared) {
		for _, s := range all {
			one := declared{ID: s.ID, Cadence: s.Cadence, License: s.License}
			for _, i := range s.Series {
				one.Series = append(one.Series, i.ID)
			}
			d = append(d, one)
		}
		return d
	}
	if diff := cmp.Diff(list(sources.All(config.Upstreams{})), list(sources.All(keyed))); diff != "" {
		t.Errorf("(-keyless +keyed):\n%s", diff)
	}
}

// The hour from 02:00 to 03:00 is skipped in spring, in some zones the one after it.
func TestSchedulesKeepClearOfTheClockChange(t *testing.T) {
	t.Parallel()
	for _, s := range sources.All(config.Upstreams{}) {
		zone, err := time.LoadLocation(s.Cadence.Zone)
		if err != nil {
			t.Errorf("%s: %v", s.ID, err)
			continue
		}
		schedule, err := cron.ParseStandard(s.Cadence.Cron)
		if err != nil {
			t.Errorf("%s: %q: %v", s.ID, s.Cadence.Cron, err)
			continue
		}
		switch s.Cadence.CatchUp {
		case series.CatchUpSkip, series.CatchUpLatest, series.CatchUpAll:
		default:
			t.Errorf("%s: catch-up policy %q", s.ID, s.Cadence.CatchUp)
		}
		slots := 0
		for at := schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, zone)); at.Year() == 2026; at = schedule.Next(at) {
			if h := at.Hour(); h == 2 || h == 3 {
				t.Fatalf("%s: a slot at %s", s.ID, at)
			}
			slots++
		}
		if slots == 0 {
			t.Errorf("%s: no slot in 2026", s.ID)
		}
	}
}

func TestSandboxAnswersEverySource(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	handler := sources.Sandbox(synth.World{Seed: 1, Now: func() time.Time { return now }}, calendar.IsTradingDay)
	ask := func(r ingest.Request) *httptest.ResponseRecorder {
		if r.Method == "" {
			r.Method = http.MethodGet
		}
		req := httptest.NewRequestWithContext(t.Context(), r.Method, r.URL, bytes.NewReader(r.Body))
		req.Header = r.Header.Clone()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w
	}
	for form, keys := range forms {
		for _, s := range sources.All(keys) {
			var window series.Window
			if s.Window != nil { // a whole history may be long
				window = s.Window(now, now.AddDate(0, -2, 0))
			}
			requests, err := s.Request(window)
			if err != nil {
				t.Fatal(err)
			}
			found := map[series.ID]bool{}
			for _, first := range requests {
				for r := &first; r != nil; {
					answer := ask(*r)
					if slices.Contains(r.Absent, answer.Code) {
						r = r.Else
						continue
					}
					batch, err := s.Parse(ingest.Response{Request: *r, Header: answer.Header(), Body: answer.Body.Bytes(), FetchedAt: now})
					if err != nil || answer.Code != http.StatusOK {
						t.Errorf("%s: %s: status %d: %v", form, r.URL, answer.Code, err)
					}
					for _, v := range batch.Readings {
						found[v.Series] = true
					}
					r = batch.Next
				}
			}
			for _, i := range s.Series {
				if !found[i.ID] {
					t.Errorf("%s: the sandbox has no reading of %s", form, i.ID)
				}
			}
		}
	}
	if answer := ask(ingest.Request{URL: "https://example.com/"}); answer.Code != http.StatusNotFound {
		t.Errorf("an unknown host: status %d", answer.Code)
	}
}
