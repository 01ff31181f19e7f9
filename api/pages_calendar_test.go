package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestTheCalendarIsAPageAndAFile(t *testing.T) {
	t.Parallel()
	s := told(t)
	page := s.ask(http.MethodGet, "/calendar", "Accept", browser)
	if page.StatusCode != http.StatusOK || !strings.Contains(string(page.body), `href="/calendar.ics"`) {
		t.Errorf("the page: %s", page.Status)
	}
	for _, accept := range []string{browser, "text/calendar", "*/*"} {
		file := s.ask(http.MethodGet, "/calendar.ics", "Accept", accept)
		if file.StatusCode != http.StatusOK || file.Header.Get("Content-Type") != "text/calendar; charset=utf-8" || !strings.HasPrefix(string(file.body), "BEGIN:VCALENDAR\r\n") {
			t.Errorf("the file for %s: %s as %s", accept, file.Status, file.Header.Get("Content-Type"))
		}
	}
}

// The page, the file, the API and the tool for agents are made of one list.
func TestTheCalendarIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	s := told(t)
	answer := s.ask(http.MethodGet, "/api/calendar")
	var list struct {
		Data []struct {
			Name       string
			ExpectedAt string `json:"expected_at"`
			Exact      bool
		}
		ICSURL string `json:"ics_url"`
	}
	if err := json.Unmarshal(answer.body, &list); err != nil || answer.StatusCode != http.StatusOK || !strings.HasSuffix(list.ICSURL, "/calendar.ics") {
		t.Fatalf("%s: %s: %v", answer.Status, answer.body, err)
	}
	file := string(s.ask(http.MethodGet, "/calendar.ics").body)
	page := string(s.ask(http.MethodGet, "/calendar", "Accept", browser).body)
	if n := strings.Count(file, "BEGIN:VEVENT"); n != len(list.Data) || strings.Count(page, `<li class="card">`) != max(n, 1) {
		t.Errorf("%d releases in the API, %d in the file, and the page %s", len(list.Data), n, page)
	}
	for i, r := range list.Data {
		if i > 0 && r.ExpectedAt < list.Data[i-1].ExpectedAt {
			t.Errorf("%s comes after %s", r.ExpectedAt, list.Data[i-1].ExpectedAt)
		}
	}
	for address, status := range map[string]int{
		"/api/calendar?when=soon": 400, "/calendar.ics?when=soon": 400, "/calendar.ics?language=es": 400, "/calendar.ics?lang=es&lang=pt": 400,
		"/changelog.json?when=soon": 400, "/calendar.ics?lang=es": 200, "/calendar.ics?utm_source=x&_=1": 200,
	} {
		if a := s.ask(http.MethodGet, address, "Accept", "text/calendar"); a.StatusCode != status || status == 400 && !strings.Contains(string(a.body), `"invalid_parameter"`) {
			t.Errorf("%s: %s: %s, want %d", address, a.Status, a.body, status)
		}
	}
}
