package api_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The difference between the two newest snapshots of the fixture has no observations behind it: the cause is the code.
func TestWhyASignalMovedAddsUp(t *testing.T) {
	t.Parallel()
	s := told(t)
	body := s.get(crack + "/changes")
	data := body["data"].(map[string]any)
	total := data["total"].(map[string]any)
	if total["value"] != -1.0 || body["lang"] != "en" || body["unit"] != "USD/bbl" {
		t.Errorf("%v", body)
	}
	if from, to := data["from"].(map[string]any), data["to"].(map[string]any); from["as_of"] != "2026-03-03T11:00:00Z" || to["as_of"] != "2026-03-04T11:00:00Z" {
		t.Errorf("from %v to %v", from, to)
	}
	for _, name := range []string{"value", "baseline", "z"} {
		var sum float64
		for _, p := range data["parts"].([]any) {
			if v, ok := p.(map[string]any)[name].(float64); ok {
				sum += v
			}
		}
		if want, ok := total[name].(float64); ok && !(math.Abs(sum-want) <= 1e-9) {
			t.Errorf("the parts of the %s add up to %v of %v", name, sum, want)
		}
	}
	if text := data["text"].(string); !strings.HasPrefix(text, "down 1.0 USD/bbl: ") || !strings.Contains(text, "−1.0") {
		t.Errorf("in words: %q", text)
	}
}

func TestWhyASignalMovedIsSaidInFourLanguages(t *testing.T) {
	t.Parallel()
	s := told(t)
	for lang, want := range map[string]string{
		"en": "down 1.0 USD/bbl: ", "es": "baja 1,000 dólares por barril: ", "pt": "cai US$\u00a01,000 por barril: ", "hi": "1.000 डॉलर प्रति बैरल नीचे: ",
	} {
		a := s.ask(http.MethodGet, crack+"/changes?lang="+lang)
		text := s.get(crack + "/changes?lang=" + lang)["data"].(map[string]any)["text"].(string)
		if !strings.HasPrefix(text, want) || a.Header.Get("Content-Language") != lang {
			t.Errorf("%s: %q, %s", lang, text, a.Header.Get("Content-Language"))
		}
	}
}

func TestSnapshotsAreNamedByInstantsAndByDays(t *testing.T) {
	t.Parallel()
	s := told(t)
	ends := func(query string) string {
		data := s.get(crack + "/changes" + query)["data"].(map[string]any)
		as := func(end string) string {
			at, err := time.Parse(time.RFC3339, data[end].(map[string]any)["as_of"].(string))
			if err != nil {
				t.Fatal(err)
			}
			return at.Format("2")
		}
		return as("from") + as("to")
	}
	for query, want := range map[string]string{
		"": "34", "?from=2026-03-02T11:00:00Z": "24", "?from=2026-02-22": "24", "?from=2026-02-22&to=2026-02-23": "23", "?to=2026-03-03T12:00:00Z": "23",
		"?from=2026-02-23&to=2026-02-23": "33", "?to=2026-02-23": "23", "?from=2026-03-03T11:00:00Z&to=2026-02-24": "34",
	} {
		if got := ends(query); got != want {
			t.Errorf("%s is from and to the %s, want %s", query, got, want)
		}
	}
	for query, status := range map[string]int{
		"?to=2026-03-02T11:30:00Z": 404, "?from=2026-02-01": 404, "?from=2026-02-24&to=2026-02-22": 400, "?from=2026-03-04T11:30:00Z&to=2026-02-22": 400, "?from=x": 400,
		"?to=2030-01-01T00:00:00Z": 400, "?to=2030-01-01": 400, "?from=2030-01-01": 400, "?from=2030-01-01&to=2030-01-02": 400, "?lang=xx": 400, "?form=2026-02-22": 400, "?from=": 400,
	} {
		if a := s.ask(http.MethodGet, crack+"/changes"+query); a.StatusCode != status {
			t.Errorf("%s: %s, want %d: %s", query, a.Status, status, a.body)
		}
	}
}
