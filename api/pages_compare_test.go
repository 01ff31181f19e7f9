package api_test

import (
	"encoding/json"
	"html"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/internal/task"
	"tidemark/signals"
)

// comparison is the part of an answer that the tests read.
type comparison struct {
	Text   string
	Lang   string
	Period string
	Result struct {
		Lag, N      int
		EffectiveN  *float64 `json:"effective_n"`
		Correlation *float64
		Interval    *struct{ Level, Lo, Hi float64 }
	}
	ByLag []json.RawMessage `json:"by_lag"`
	Data  []struct {
		Period        string
		First, Second float64
	}
}

// Few pairs have no correlation by lag, so no plot, no legend and no table of lags.
func TestAComparisonOfFewWeeksHasNothingByLag(t *testing.T) {
	t.Parallel()
	s := told(t)
	a := s.ask(http.MethodGet, "/compare?first=crack-spread-321&second=hormuz-transit", "Accept", browser)
	if body := string(a.body); a.StatusCode != http.StatusOK || !strings.Contains(body, "There are too few pairs for a correlation.") || strings.Contains(body, `id="lags"`) {
		t.Errorf("%s: %s", a.Status, body)
	}
}

func TestTwoSignalsAreComparedInTheAPIAndOnAPageInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := told(t)
	const query = "?first=crack-spread-321&second=hormuz-transit&lag=1"
	titles := map[string]string{"en": "3:2:1 crack spread · ", "es": "Margen de refino · Ormuz", "pt": "Margem de refino · Ormuz", "hi": "रिफ़ाइनिंग मार्जिन · होर्मुज़"}
	for _, lang := range []string{"en", "es", "pt", "hi"} {
		answer := s.ask(http.MethodGet, "/api/compare"+query+"&lang="+lang)
		var c comparison
		if err := json.Unmarshal(answer.body, &c); err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Language") != lang {
			t.Fatalf("%s: %s: %v", answer.Status, answer.body, err)
		}
		if c.Lang != lang || c.Text == "" || c.Period != "week" || c.Result.Lag != 1 || len(c.ByLag) != 2*signals.MaxLag+1 || c.Result.N != len(c.Data) {
			t.Errorf("the comparison in %s is %+v", lang, c)
		}
		page := s.ask(http.MethodGet, "/compare"+query+"&lang="+lang, "Accept", browser)
		picture := map[string]string{"es": "lang=es&", "pt": "lang=pt&"}[lang] // the font of the pictures has no Devanagari
		at := "/compare/card.png?first=crack-spread-321&lag=1&" + picture + "second=hormuz-transit"
		for _, want := range []string{"<title>" + titles[lang], at + `"`, `og:title" content="` + titles[lang]} {
			if !strings.Contains(html.UnescapeString(string(page.body)), want) {
				t.Errorf("the page in %s has no %s", lang, want)
			}
		}
		if a := s.ask(http.MethodGet, at); a.StatusCode != http.StatusOK || !strings.HasPrefix(string(a.body), "\x89PNG") {
			t.Errorf("%s: %s", at, a.Status)
		}
		if body := html.UnescapeString(string(page.body)); page.StatusCode != http.StatusOK || !strings.Contains(body, c.Text) || !strings.Contains(body, `<html lang="`+lang+`">`) {
			t.Errorf("the page in %s, %s, does not say %q", lang, page.Status, c.Text)
		}
		if broken := regexp.MustCompile(`<p class="(?:lead|prose)">[^<]*\bz-[\pL]`).FindString(string(page.body)); broken != "" {
			t.Errorf("in %s a line may end within %q", lang, broken)
		}
	}
	if a := s.ask(http.MethodGet, "/compare", "Accept", browser); a.StatusCode != http.StatusOK {
		t.Errorf("the page without a choice: %s", a.Status)
	}
	for _, wrong := range []string{
		"", "?first=crack-spread-321", "?first=crack-spread-321&second=crack-spread-321", "?first=crack-spread-321&second=none",
		query + "&lag=13", query + "&lag=x", query + "&from=2026-02-01&to=2026-01-01", query + "&as_of=2126-01-01",
	} {
		if strings.HasPrefix(wrong, query) {
			wrong = strings.Replace(wrong, "&lag=1&", "&", 1)
		}
		if a := s.ask(http.MethodGet, "/api/compare"+wrong); a.StatusCode != http.StatusBadRequest {
			t.Errorf("/api/compare%s: %s", wrong, a.Status)
		}
		if wrong == "" || wrong == "?first=crack-spread-321" {
			continue // the page chooses
		}
		if a := s.ask(http.MethodGet, "/compare"+wrong, "Accept", browser); a.StatusCode != http.StatusBadRequest {
			t.Errorf("/compare%s: %s", wrong, a.Status)
		}
	}
}

func TestAComparisonOfADaySaysSoAndLeadsToTheFirstDayWithValues(t *testing.T) {
	t.Parallel()
	s := told(t)
	ships, track := partial(), []signals.Estimate{estimate(0, 80), estimate(1, 81)}
	ships.At, ships.ObservedAt, ships.KnownAt = noon.Add(-25*time.Hour), new(track[1].ObservedAt.Time()), new(track[1].KnownAt.Time())
	if err := s.worker.SaveSnapshot(t.Context(), task.Fence{}, ships, track); err != nil {
		t.Fatal(err)
	}
	const page = "/compare?first=crack-spread-321&second=hormuz-transit&lang=en&as_of="
	open := func(day string) string {
		t.Helper()
		return html.UnescapeString(string(s.ask(http.MethodGet, page+day, "Accept", browser).body))
	}
	const link = `<a href="/compare?as_of=2026-03-03&first=crack-spread-321&lang=en&second=hormuz-transit">Values of both signals were first known on March 3, 2026.</a>`
	s.eventually("the link to the first day", func() bool { return strings.Contains(open("2020-01-01"), link) })
	if body := open("2026-03-03"); !strings.Contains(body, "The values are those known at the end of March 3, 2026, UTC.") || strings.Contains(body, "first known") ||
		!strings.Contains(body, `href="/signals/hormuz-transit?as_of=2026-03-03&lang=en"`) {
		t.Errorf("the page of a day: %s", body[strings.Index(body, "<h1"):])
	}
}

// The statistic can be recomputed from the pairs of the answer.
func TestAComparisonIsRecomputedFromItsOwnPairs(t *testing.T) {
	t.Parallel()
	s := told(t)
	var c comparison
	answer := s.ask(http.MethodGet, "/api/compare?first=crack-spread-321&second=hormuz-transit")
	if err := json.Unmarshal(answer.body, &c); err != nil {
		t.Fatal(err)
	}
	var first, second []signals.Reading
	for _, p := range c.Data {
		at, err := time.Parse(time.DateOnly, p.Period)
		if err != nil {
			t.Fatal(err)
		}
		first, second = append(first, signals.Reading{At: at, Z: p.First}), append(second, signals.Reading{At: at, Z: p.Second})
	}
	want := signals.Compare(first, second, false, 0).Chosen
	same := func(got *float64, want float64) bool {
		return got == nil && math.IsNaN(want) || got != nil && math.Abs(*got-want) < 1e-6
	}
	if !same(c.Result.Correlation, want.R) || !same(c.Result.EffectiveN, want.Effective) || (c.Result.Interval == nil) != math.IsNaN(want.Lo) {
		t.Errorf("the answer has %v of %v pairs, want %+v", c.Result.Correlation, c.Result.EffectiveN, want)
	}
}
