package pages

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
)

// contentLine is a line of RFC 5545, section 3.1: a name, parameters and a value.
var contentLine = regexp.MustCompile(`^([A-Z][A-Z-]*)((?:;[A-Z-]+=[^;:,"]+)*):([^\x00-\x08\x0a-\x1f\x7f]*)$`)

// readCalendar is a strict reader of a calendar. It returns the properties of each event.
func readCalendar(t *testing.T, file []byte) (events []map[string]string) {
	t.Helper()
	text := string(file)
	if !utf8.ValidString(text) || !strings.HasSuffix(text, "\r\n") || strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n") {
		t.Fatalf("the file is not lines of UTF-8 that end with CRLF: %q", text)
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) {
			t.Errorf("a line has %d bytes: %q", len(line), line)
		}
	}
	var open []string
	seen := map[string]bool{}
	calendar := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n ", ""), "\r\n"), "\r\n") {
		m := contentLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is not a line of a calendar", line)
		}
		name, parameters, value := m[1], m[2], m[3]
		switch {
		case name == "BEGIN":
			open = append(open, value)
			if value == "VEVENT" {
				events = append(events, map[string]string{})
			}
		case name == "END":
			if len(open) == 0 || open[len(open)-1] != value {
				t.Fatalf("END:%s within %v", value, open)
			}
			open = open[:len(open)-1]
		case len(open) == 1:
			calendar[name] = value
		default:
			e := events[len(events)-1]
			if _, twice := e[name]; twice {
				t.Errorf("%s stands twice in an event", name)
			}
			e[name] = parameters + value
		}
		if name == "SUMMARY" || name == "DESCRIPTION" {
			if bare := regexp.MustCompile(`\\[\\;,n]`).ReplaceAllString(value, ""); strings.ContainsAny(bare, `\;,`) {
				t.Errorf("%s is not escaped: %q", name, value)
			}
		}
	}
	if len(open) != 0 || calendar["VERSION"] != "2.0" || calendar["PRODID"] == "" {
		t.Errorf("the calendar has %v, and %v is open", calendar, open)
	}
	for _, e := range events {
		if e["UID"] == "" || seen[e["UID"]] {
			t.Errorf("%q is not a UID of its own", e["UID"])
		}
		seen[e["UID"]] = true
		for name, layouts := range map[string][]string{"DTSTAMP": {"20060102T150405Z"}, "DTSTART": {"20060102T150405Z", ";VALUE=DATE20060102"}} {
			valid := false
			for _, layout := range layouts {
				_, err := time.Parse(layout, e[name])
				valid = valid || err == nil
			}
			if !valid {
				t.Errorf("%s is %q", name, e[name])
			}
		}
	}
	return events
}

func TestTheCalendarIsReadByAStrictReader(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 15, 30, 0, 0, time.UTC)
	s := &view.Signal{Definition: signals.Definition{ID: "crack-spread-321"}}
	list := []release{
		{Signal: s, Name: `Spread; the "last", day \ up to Monday ` + strings.Repeat("हिन्दी", 20), Period: "2026-11-23", At: at, Exact: true, ID: "crack-spread-321/spread/2026-11-23", Forecast: true, Interval: "13.89 to 18.27 USD/bbl", stamp: at.AddDate(0, 0, -7)},
		{Signal: s, Name: "Crack spread", At: at.Truncate(24 * time.Hour), stamp: at},
		{Signal: s, Name: "Share", Period: "2026-11", At: at.Truncate(24 * time.Hour), Exact: true, ID: "crack-spread-321/share/2026-11", stamp: at},
	}
	file := iCalendar(localizer{Lang: "en"}, list, "https://tidemark.example")
	events := readCalendar(t, file)
	if len(events) != 3 || events[0]["DTSTART"] != "20261125T153000Z" || events[1]["DTSTART"] != ";VALUE=DATE20261125" || events[2]["DTSTART"] != ";VALUE=DATE20261125" {
		t.Fatalf("the events are %v", events)
	}
	if want := `13.89 to 18.27 USD/bbl`; !strings.Contains(events[0]["DESCRIPTION"], want) {
		t.Errorf("%q has no %s", events[0]["DESCRIPTION"], want)
	}
	if strings.Contains(events[2]["DESCRIPTION"], "Forecast") {
		t.Errorf("%q tells of a forecast that is not recorded", events[2]["DESCRIPTION"])
	}
	for lang, want := range map[picks.Lang]string{"en": "Synthetic data", "es": "Datos sintéticos", "pt": "Dados sintéticos", "hi": "कृत्रिम आँकड़े"} {
		s.Snapshot.Synthetic = false
		if file := string(iCalendar(localizer{Lang: lang}, list, "")); strings.Contains(unfolded.Replace(file), want) {
			t.Errorf("%s: data of the live world are called synthetic", lang)
		}
		s.Snapshot.Synthetic = true
		file := iCalendar(localizer{Lang: lang}, list, "")
		events := readCalendar(t, file)
		if !strings.Contains(unfolded.Replace(string(file)), "X-WR-CALDESC:"+want) || !strings.Contains(events[0]["DESCRIPTION"], want) || strings.Contains(events[2]["DESCRIPTION"], want) {
			t.Errorf("%s: the file of a sandbox has no %q: %s", lang, want, file)
		}
	}
	list[0].At, list[0].Forecast = at.AddDate(0, 0, 1), false
	if moved := readCalendar(t, iCalendar(localizer{Lang: "en"}, list, "https://tidemark.example")); moved[0]["UID"] != events[0]["UID"] {
		t.Error("an entry that moves becomes another one")
	}
	readCalendar(t, iCalendar(localizer{Lang: "en"}, nil, "https://tidemark.example"))
}

// unfolded joins the lines that a calendar file breaks.
var unfolded = strings.NewReplacer("\r\n ", "")

func TestAWeekOfTheCalendarHasTheDayThatItEndsOn(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"hormuz-transit/ships_week/2026-11-29": "week to November 29, 2026", "eia-weekly-petroleum/crude_stocks_change/2026-11-20": "week to November 20, 2026",
		"crack-spread-321/spread/2026-11-20": "November 20, 2026",
	} {
		signal, _, _ := strings.Cut(id, "/")
		r := release{Signal: &view.Signal{Definition: signals.Definition{ID: signal}}, ID: id, Period: id[strings.LastIndex(id, "/")+1:]}
		if got := (localizer{Lang: "en"}).periodOf(r); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestLinesOfACalendarAreFoldedBetweenLetters(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		text := "SUMMARY:" + strings.Repeat("x", n%7) + strings.Repeat("é€", n)
		got := folded(text)
		for line := range strings.SplitSeq(strings.TrimSuffix(got, "\r\n"), "\r\n") {
			if len(line) > maxLine || !utf8.ValidString(line) {
				t.Fatalf("%d bytes: %q", len(line), line)
			}
		}
		if strings.ReplaceAll(strings.TrimSuffix(got, "\r\n"), "\r\n ", "") != text {
			t.Fatalf("unfolded it is %q", got)
		}
	}
}
