package conformance

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/locale/languages"
	"tidemark/test/claims"
)

// tags are the marks of HTML and XML, with the content of scripts and styles.
var tags = regexp.MustCompile(`(?s)<(script|style)\b.*?</(?:script|style)>|<[^>]*>`)

// folds undoes the line breaks that a calendar puts into long lines (RFC 5545, section 3.1).
var folds = strings.NewReplacer("\r\n ", "")

// claimsServed reads what a running program tells people, calendars, feed readers and agents, and looks for probabilities that the table
// of claims does not carry. The briefs, which /llms-full.txt repeats, have a test of their own.
func claimsServed(t *testing.T, s *server) {
	var list struct {
		Signals []struct{ ID string }
	}
	if err := s.get(t.Context(), "/api/signals", &list); err != nil || len(list.Signals) == 0 {
		t.Fatalf("the signals: %d, %v", len(list.Signals), err)
	}
	served := map[string]string{}
	read := func(path string) {
		t.Helper()
		a := s.ask(t, http.MethodGet, path, "")
		if a.Status != http.StatusOK {
			t.Errorf("%s: status %d", path, a.Status)
		}
		text := folds.Replace(string(a.Body))
		served[path] = html.UnescapeString(tags.ReplaceAllString(text, ". "))
	}
	call := func(tool string, arguments map[string]any) {
		t.Helper()
		content, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
		})
		if err != nil {
			t.Fatal(err)
		}
		a := s.send(t, http.MethodPost, "/api/mcp", "", "application/json", string(content))
		var answer struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(a.Body, &answer); err != nil || len(answer.Result.Content) == 0 {
			t.Fatalf("%s: %v: %.300s", tool, err, a.Body)
		}
		served[fmt.Sprintf("%s %v", tool, arguments)] = answer.Result.Content[0].Text // the next part is the structured answer
	}
	for _, path := range []string{"/llms.txt", "/calendar.ics", "/picks.atom", "/api/stream/atom"} {
		read(path)
	}
	for _, l := range languages.All() {
		lang := "?lang=" + string(l.Code)
		for _, path := range []string{"/calendar", "/", "/picks", "/method"} {
			read(path + lang)
		}
		for _, signal := range list.Signals {
			for _, page := range []string{"/signals/", "/embed/", "/evidence/"} {
				read(page + signal.ID + map[string]string{"/evidence/": "/latest"}[page] + lang)
			}
			read("/signals/" + signal.ID + "/forecasts" + lang)
			read("/signals/" + signal.ID + "/revisions" + lang)
		}
		read("/compare" + lang + "&a=crack-spread-321&b=hormuz-transit")
	}
	call("list_signals", map[string]any{})
	call("get_calendar", map[string]any{})
	for _, signal := range list.Signals {
		call("get_signal", map[string]any{"id": signal.ID})
		call("get_signal_history", map[string]any{"id": signal.ID, "limit": 3})
		call("get_forecast", map[string]any{"id": signal.ID})
	}
	found := 0
	for where, text := range served {
		for _, sentence := range claims.In(text) {
			if found++; !claims.Carried(sentence) {
				t.Errorf("%s claims what docs/signals.md does not list: %s", where, sentence)
			}
		}
	}
	if found == 0 {
		t.Error("no text claims a probability: the test looks in the wrong places")
	}
}
