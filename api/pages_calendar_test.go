package api_test

import (
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
