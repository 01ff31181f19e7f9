package extend

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// surface is a place that should know what was added: an address of the program, or a command where args is not empty.
type surface struct {
	// thing names the addition, and name the surface in the words of a newcomer.
	thing, name string
	// path is asked for with the method GET if body is empty, at the operators' listener if ops is set.
	path, body string
	ops        bool
	args       []string
	// status is the status of the response or the exit status of the command. The text must contain want, with a positive number behind it if
	// number is set.
	status int
	want   string
	number bool
}

// in reports whether a text has what the surface wants, with or without a space behind the name of a member.
func (s surface) in(text string) bool {
	pattern := regexp.QuoteMeta(s.want)
	if s.number {
		pattern += "[1-9]"
	}
	return regexp.MustCompile(pattern).MatchString(strings.ReplaceAll(text, `": `, `":`))
}

// answer is the response of an address, or the output of a command.
type answer struct {
	status int
	text   string
	err    error
}

// census asks every surface. It returns a line for each that does not know its thing.
func census(list []surface, ask func(surface) answer) (faults []string) {
	for _, s := range list {
		a := ask(s)
		if a.err == nil && a.status == s.status && s.in(a.text) {
			continue
		}
		faults = append(faults, fmt.Sprintf("%s does not know %s: %s%s ends with %d %v, without %q:\n%.500s",
			s.name, s.thing, s.path, strings.Join(s.args, " "), a.status, a.err, s.want, a.text))
	}
	return faults
}

func surfaces() []surface {
	of := "/api/signals/" + signal
	list := []surface{
		{thing: signal, name: "catalog of the API", path: "/api/signals", status: 200, want: signal},
		{thing: signal, name: "signal of the API", path: of, status: 200, want: `"value"`},
		{thing: signal, name: "history", path: of + "/history?limit=3", status: 200, want: `"observed_at"`},
		{thing: signal, name: "vintages", path: of + "/vintages?limit=3", status: 200, want: signal},
		{thing: signal, name: "history as Parquet", path: of + "/history?format=parquet&limit=3", status: 200, want: "z_score"},
		{thing: signal, name: "history as Arrow", path: of + "/history?format=arrow&limit=3", status: 200, want: "z_score"},
		{thing: signal, name: "forecasts", path: of + "/forecasts", status: 200, want: signal},
		{thing: signal, name: "evidence", path: of + "/evidence", status: 200, want: `"numbers"`},
		{thing: signal, name: "bodies behind the value", path: of + "/inputs", status: 200, want: `"sha256"`},
		{thing: signal, name: "comparison", path: "/api/compare?first=crack-spread-321&second=" + signal, status: 200, want: signal},
		{thing: signal, name: "page of a comparison", path: "/compare?first=crack-spread-321&second=" + signal, status: 200, want: "newcomer"},
		{thing: signal, name: "embed", path: "/embed/" + signal, status: 200, want: "Newcomer"},
		{thing: signal, name: "alert", path: "/api/v1/alerts", body: `{"rule":{"on":"z_score","signal":"` + signal + `","above":9},"url":"https://hooks.example.com/"}`, status: 201, want: signal},
		{thing: signal, name: "daily data set", path: "/data/manifest.json", status: 200, want: signal},
		{thing: signal, name: "brief", path: of + "/brief", status: 200, want: "Transits of a newcomer"},
		{thing: signal, name: "description of the signals", path: "/api/signals/openapi.json", status: 200, want: signal},
		{thing: signal, name: "description of the service", path: "/openapi.json", status: 200, want: signal},
		{thing: signal, name: "llms.txt", path: "/llms.txt", status: 200, want: signal},
		{thing: signal, name: "sitemap", path: "/sitemap.xml", status: 200, want: "/signals/" + signal},
		{thing: signal, name: "first page", path: "/", status: 200, want: "/signals/" + signal},
		{thing: signal, name: "page", path: "/signals/" + signal, status: 200, want: "Newcomer"},
		{thing: signal, name: "picture", path: "/signals/" + signal + "/card.png", status: 200, want: "PNG"},
		{thing: signal, name: "state", path: "/status", status: 200, want: "Transits of a newcomer"},
		{thing: signal, name: "stream", path: "/api/stream?topics=signal:" + signal + "&after=0&seconds=1", status: 200, want: "retry:"},
		{thing: signal, name: "feed of the stream", path: "/api/stream/atom?topics=signal:" + signal, status: 200, want: "<feed"},
		{thing: signal, name: "tools for agents", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_signals","arguments":{}}}`, status: 200, want: signal},
		{thing: signal, name: "resources for agents", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{}}`, status: 200, want: "/api/signals/" + signal},

		{thing: sold, name: "endpoint with a key", path: "/api/v1" + sold, status: 200, want: `"pagination"`},
		{thing: sold, name: "endpoint as a file", path: "/api/v1" + sold + "?format=csv", status: 200, want: "weight_pct"},
		{thing: sold, name: "endpoint paid by request", path: "/api/v1/x402" + sold, status: 402, want: `"maxAmountRequired":"4000"`},
		{thing: sold, name: "list of what is sold", path: "/api/v1/x402/info", status: 200, want: "/api/v1/x402" + sold},
		{thing: sold, name: "prices", path: "/api/v1/info", status: 200, want: `"` + sold + `":"0.004"`},
		{thing: sold, name: "description of the endpoint", path: "/openapi.json", status: 200, want: `"/api/v1` + sold + `"`},
		{thing: sold, name: "description of its twin", path: "/openapi.json", status: 200, want: `"/api/v1/x402` + sold + `"`},
		{thing: sold, name: "llms.txt of the endpoint", path: "/llms.txt", status: 200, want: "/api/v1" + sold},
		{thing: sold, name: "catalog of paid resources", path: "/.well-known/x402", status: 200, want: "/api/v1/x402" + sold},
		{thing: sold, name: "page of the documentation", path: "/docs", status: 200, want: "<code>" + sold + "</code>"},
		{thing: sold, name: "usage", path: "/api/v1/account/usage", status: 200, want: sold},

		{thing: lang, name: "languages", path: "/api/v1/info", status: 200, want: `"hi","` + lang + `"`},
		{thing: lang, name: "language of the description", path: "/openapi.json", status: 200, want: `"hi","` + lang + `"`},
		{thing: lang, name: "language in llms.txt", path: "/llms.txt", status: 200, want: "hi and " + lang},
		{thing: lang, name: "language of the documentation", path: "/docs", status: 200, want: `hreflang="` + lang + `"`},
		{thing: lang, name: "language of the tools", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, status: 200, want: `"hi","` + lang + `"`},
		{thing: lang, name: "language of the prompts", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"explain_signal","arguments":{"signal":"` + signal + `","language":"` + lang + `"}}}`, status: 200, want: "Answer in French."},
		{thing: lang, name: "what can be said in the prompts", path: "/api/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{}}`, status: 200, want: "hi or " + lang},
		{thing: lang, name: "language of a page", path: "/picks?lang=" + lang, status: 200, want: `<html lang="` + lang + `"`},
		{thing: lang, name: "language of a signal's page", path: "/signals/crack-spread-321?lang=" + lang, status: 200, want: `<html lang="` + lang + `"`},
		{thing: lang, name: "language of the state", path: "/status?lang=" + lang, status: 200, want: `<html lang="` + lang + `"`},
		{thing: lang, name: "language of the calendar", path: "/calendar?lang=" + lang, status: 200, want: `<html lang="` + lang + `"`},
		{thing: lang, name: "language beside a page", path: "/picks", status: 200, want: "Français"},
		{thing: lang, name: "error of a language", path: "/api/v1/digest/latest?lang=xx", status: 400, want: "hi, " + lang},
		{thing: lang, name: "events", path: "/api/v1/economic-events?limit=1&lang=" + lang, status: 200, want: `"lang":"` + lang + `"`},

		{thing: column, name: "picks", path: "/api/v1/picks?limit=1", status: 200, want: `"rank":`, number: true},
		{thing: column, name: "picks as lines", path: "/api/v1/picks?format=ndjson&limit=1", status: 200, want: `"rank":`, number: true},
		{thing: column, name: "picks as a file", path: "/api/v1/picks?format=csv&limit=1", status: 200, want: ",rank,"},
		{thing: column, name: "newest pick", path: "/api/v1/picks/latest", status: 200, want: `"rank":`, number: true},
		{thing: column, name: "description of the column", path: "/openapi.json", status: 200, want: "`rank` is the pick's place"},

		{thing: score, name: "method of the signal", path: "/api/signals/crack-spread-321/brief", status: 200, want: "within 10 calendar days"},
		{thing: score, name: "method of the signal in Spanish", path: "/signals/crack-spread-321?lang=es", status: 200, want: "a no más de 10 días"},
		{thing: signal, name: "metrics", path: "/metrics", ops: true, status: 200, want: `tidemark_freshness_age_seconds{signal="` + signal + `"}`},

		{thing: signal, name: "explanation", args: []string{"explain", signal}, want: signal},
		{thing: signal, name: "schedule", args: []string{"schedule", "list"}, want: signal},
		{thing: signal, name: "backfill", args: []string{"backfill", "plan", "--signal=" + signal, "--from=2026-11-02", "--to=2026-11-06"}, want: signal},
		{thing: signal, name: "doctor", args: []string{"doctor"}, want: "7 signals"},
		{thing: source, name: "schedule of the publisher", args: []string{"schedule", "list"}, want: source},
		{thing: source, name: "run log of the publisher", args: []string{"runs", "list", "--subject=" + source}, want: source},
		{thing: source, name: "sandbox of the publisher", args: []string{"reparse", "--source=" + source}, want: source},
		{thing: setting, name: "settings", args: []string{"help", "settings"}, want: setting},
		{thing: lang, name: "digest on the command line", args: []string{"portfolio", "digest", "--lang=" + lang}, want: "The week of"},
	}
	for _, lang := range []string{"en", "es", "pt", "hi", lang} {
		list = append(list, surface{thing: lang, name: "digest in " + lang, path: "/api/v1/digest/latest?lang=" + lang, status: 200, want: `"lang":"` + lang + `"`})
	}
	return list
}

// complete answers as a program does that knows everything: at each address and for each command, with all that the census asks there.
func complete(list []surface, without *surface) func(surface) answer {
	return func(asked surface) answer {
		var text []string
		for i := range list {
			s := &list[i]
			if s != without && s.path == asked.path && s.body == asked.body && slices.Equal(s.args, asked.args) {
				value := s.want
				if s.number {
					value += "1"
				}
				text = append(text, value)
			}
		}
		return answer{status: asked.status, text: strings.Join(text, "\n")}
	}
}

// Each omission, made on purpose, is named: the surface, and what it forgot.
func TestEachOmissionIsNamed(t *testing.T) {
	t.Parallel()
	list := surfaces()
	if faults := census(list, complete(list, nil)); len(faults) > 0 {
		t.Fatalf("with nothing left out: %q", faults)
	}
	for i := range list {
		s := &list[i]
		faults := census(list, complete(list, s))
		if len(faults) != 1 || !strings.HasPrefix(faults[0], s.name+" does not know "+s.thing+": "+s.path+strings.Join(s.args, " ")) {
			t.Errorf("%s leaves out %s, and the census says %q", s.name, s.thing, faults)
		}
		// A member without its number is an omission, too: a file that the task touches was forgotten.
		null := func(asked surface) answer { return answer{status: asked.status, text: asked.want + " null"} }
		if faults := census([]surface{*s}, null); s.number != (len(faults) == 1) {
			t.Errorf("%s has no number, and the census says %q", s.name, faults)
		}
		// A wrong status is an omission, too, even if the text is complete.
		status := func(asked surface) answer {
			a := complete(list, nil)(asked)
			if asked.name == s.name {
				a.status++
			}
			return a
		}
		if faults := census(list, status); len(faults) != 1 || !strings.HasPrefix(faults[0], s.name+" does not know ") {
			t.Errorf("%s has another status, and the census says %q", s.name, faults)
		}
	}
}

// The census asks each kind of surface for each addition that it should know.
func TestTheCensusAsksEveryKindOfSurface(t *testing.T) {
	t.Parallel()
	kinds := map[string][]string{
		signal: {
			"catalog", "signal of the API", "history", "brief", "description of the signals", "description of the service", "llms.txt", "tools for agents",
			"resources for agents", "page", "metrics", "schedule", "backfill", "stream", "history as Parquet", "history as Arrow", "forecasts", "evidence", "bodies behind",
			"comparison", "alert", "daily data set", "explanation",
		},
		sold: {
			"endpoint with a key", "endpoint as a file", "endpoint paid by request", "list of what is sold", "prices", "description of the endpoint",
			"llms.txt", "catalog of paid resources", "page of the documentation", "usage",
		},
		lang: {
			"languages", "language of the description", "language in llms.txt", "language of the documentation", "language of the tools", "language of a page",
			"digest in fr", "digest on the command line",
		},
		source: {"schedule of the publisher", "run log", "sandbox"}, setting: {"settings"}, column: {"picks", "picks as a file", "description"},
		score: {"method of the signal", "method of the signal in Spanish"},
	}
	names := map[string]bool{}
	for _, s := range surfaces() {
		if names[s.name] {
			t.Errorf("two surfaces are called %q", s.name)
		}
		names[s.name] = true
	}
	for thing, wanted := range kinds {
		for _, kind := range wanted {
			if !slices.ContainsFunc(surfaces(), func(s surface) bool { return s.thing == thing && strings.HasPrefix(s.name, kind) }) {
				t.Errorf("the census does not ask for %s: %s", thing, kind)
			}
		}
	}
}
