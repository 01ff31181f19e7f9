package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark/accounts"
)

func TestPagesComeInTheLanguageThatTheBrowserPrefers(t *testing.T) {
	t.Parallel()
	s := publish(t, accounts.ModelBalance)
	s.offer(accounts.ModelBalance)
	in := func(path, prefers string) (lang string, a answer) {
		a = s.ask(http.MethodGet, path, "Accept", browser, "Accept-Language", prefers)
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s for %q: %s", path, prefers, a.Status)
		}
		_, rest, _ := strings.Cut(string(a.body), `<html lang="`)
		lang, _, _ = strings.Cut(rest, `"`)
		return lang, a
	}
	for _, path := range []string{"/picks", "/events", "/economic-events", "/digest", "/compare", "/calendar", "/signals/crack-spread-321/forecasts", "/signals/crack-spread-321/revisions", "/verify", "/picks?status=open"} {
		tags := map[string]bool{}
		for _, c := range [][2]string{{"", "en"}, {"es-MX,es;q=0.9,en;q=0.5", "es"}, {"fr,pt-BR;q=0.4", "pt"}, {"hi", "hi"}, {"de", "en"}, {"*", "en"}, {"es;q=0,en", "en"}} {
			lang, a := in(path, c[0])
			if lang != c[1] || !slices.Contains(a.Header.Values("Vary"), "Accept-Language") {
				t.Errorf("%s for %q is in %q, want %q; Vary is %v", path, c[0], lang, c[1], a.Header.Values("Vary"))
			}
			tags[a.Header.Get("ETag")] = true
		}
		if len(tags) != 4 {
			t.Errorf("%s has %d tags in four languages", path, len(tags))
		}
		named := path + "?lang=en"
		if strings.Contains(path, "?") {
			named = path + "&lang=en"
		}
		lang, a := in(named, "es")
		if lang != "en" || slices.Contains(a.Header.Values("Vary"), "Accept-Language") {
			t.Errorf("%s for a browser that prefers Spanish is in %q; Vary is %v", named, lang, a.Header.Values("Vary"))
		}
		if body := string(a.body); path == "/picks" && !strings.Contains(body, `href="/events?lang=en"`) {
			t.Error("the links of a page whose address names English do not name it")
		}
		// The tag of one language does not confirm another.
		_, spanish := in(path, "es")
		if b := s.ask(http.MethodGet, path, "Accept", browser, "Accept-Language", "pt", "If-None-Match", spanish.Header.Get("ETag")); b.StatusCode != http.StatusOK {
			t.Errorf("%s in Portuguese for the tag of the Spanish page: %s", path, b.Status)
		}
		if b := s.ask(http.MethodGet, path, "Accept", browser, "Accept-Language", "es", "If-None-Match", spanish.Header.Get("ETag")); b.StatusCode != http.StatusNotModified || !slices.Contains(b.Header.Values("Vary"), "Accept-Language") {
			t.Errorf("%s again in Spanish: %s, Vary %v", path, b.Status, b.Header.Values("Vary"))
		}
	}
	for _, path := range []string{"/terms", "/method"} {
		if lang, a := in(path, "es"); lang != "en" || slices.Contains(a.Header.Values("Vary"), "Accept-Language") {
			t.Errorf("%s is in %q; Vary is %v", path, lang, a.Header.Values("Vary"))
		}
	}
}
