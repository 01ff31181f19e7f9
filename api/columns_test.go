package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/accounts"
	"tidemark/api/endpoint"
	"tidemark/api/view"
)

// Other implementations read the same values: see test/conformance/columns.mjs. These tests look at what is around them.

func TestListsHaveTypedColumnsUnderTheirMediaTypes(t *testing.T) {
	t.Parallel()
	s := told(t)
	for _, path := range []string{crack + "/history", crack + "/history?vintages=all", crack + "/history?limit=1", crack + "/forecasts"} {
		for format, begin := range map[string]string{view.FormatParquet: "PAR1", view.FormatArrow: "\xff\xff\xff\xff"} {
			join := "?"
			if bytes.ContainsRune([]byte(path), '?') {
				join = "&"
			}
			address := path + join + "format=" + format
			a := s.ask(http.MethodGet, address, "Accept-Encoding", "identity")
			if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != view.FormatType(format) || !bytes.HasPrefix(a.body, []byte(begin)) {
				t.Errorf("%s: %s as %s: %.20q", address, a.Status, a.Header.Get("Content-Type"), a.body)
			}
			if zip := s.ask(http.MethodGet, address, "Accept-Encoding", "gzip"); format == view.FormatParquet && zip.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s is compressed twice", address)
			}
			if known := s.ask(http.MethodGet, address, "If-None-Match", a.Header.Get("ETag")); known.StatusCode != http.StatusNotModified {
				t.Errorf("%s: a client that has it gets %s", address, known.Status)
			}
			head := s.ask(http.MethodHead, address, "Accept-Encoding", "identity")
			if head.Header.Get("ETag") != a.Header.Get("ETag") || head.Header.Get("Content-Length") != strconv.Itoa(len(a.body)) {
				t.Errorf("%s: HEAD has %s bytes and the tag %s, GET %d and %s", address, head.Header.Get("Content-Length"), head.Header.Get("ETag"), len(a.body), a.Header.Get("ETag"))
			}
			if again := s.ask(http.MethodGet, address, "Accept-Encoding", "identity"); !bytes.Equal(again.body, a.body) {
				t.Errorf("%s: the same request has other bytes", address)
			}
			if accepted := s.ask(http.MethodGet, path, "Accept", view.FormatType(format)); accepted.Header.Get("Content-Type") != view.FormatType(format) {
				t.Errorf("%s: Accept gets %s", path, accepted.Header.Get("Content-Type"))
			}
		}
	}
}

// Arrow's stream and the names of Parquet's columns are not compressed.
func TestTypedColumnsSayWhatTheIntervalIs(t *testing.T) {
	t.Parallel()
	s := told(t)
	for format, texts := range map[string][]string{
		view.FormatArrow: {"bounds", "basis", "next_first_print", "measured"}, view.FormatParquet: {"bounds", "basis"},
	} {
		a := s.ask(http.MethodGet, crack+"/history?format="+format, "Accept-Encoding", "identity")
		for _, text := range texts {
			if !bytes.Contains(a.body, []byte(text)) {
				t.Errorf("%s has no %s", format, text)
			}
		}
	}
}

func TestADocumentKeepsTheVaryOfItsHandler(t *testing.T) {
	t.Parallel()
	s := told(t)
	for _, path := range []string{crack + "/forecasts", crack + "/history"} {
		found := false
		for _, field := range s.ask(http.MethodGet, path).Header.Values("Vary") {
			found = found || field == "Accept"
		}
		if !found {
			t.Errorf("%s has other formats and does not vary by Accept", path)
		}
	}
}

func TestTypedColumnsCostWhatTheListCosts(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	for _, path := range []string{"/picks", "/portfolio/history", "/events"} {
		want := p.paid(path + "?format=csv").Header.Get("X-Request-Cost")
		for _, format := range []string{view.FormatParquet, view.FormatArrow} {
			a := p.paid(path + "?format=" + format)
			if got := a.Header.Get("X-Request-Cost"); got != want || a.Header.Get("Content-Type") != view.FormatType(format) {
				t.Errorf("%s as %s costs %q and is %s, want %q", path, format, got, a.Header.Get("Content-Type"), want)
			}
		}
	}
}

// Tables have each member of the list's rows, but for those that the description says they leave out.
func TestTablesLeaveOutWhatTheDescriptionSays(t *testing.T) {
	t.Parallel()
	p := discovered(t)
	var description struct {
		Paths map[string]struct{ Get struct{ Description string } }
	}
	if err := json.Unmarshal(p.ask(http.MethodGet, "/openapi.json").body, &description); err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("leave out (`[^.]*`), which")
	seen, told := 0, 0
	for _, e := range endpoint.All() {
		if e.List == nil {
			continue
		}
		path := "/api/v1" + e.Path
		var list struct{ Data []map[string]any }
		if err := json.Unmarshal(p.ask(http.MethodGet, path, "Authorization", "Bearer "+p.key).body, &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Data) == 0 {
			continue
		}
		seen++
		header, _, _ := strings.Cut(string(p.ask(http.MethodGet, path+"?format=csv", "Authorization", "Bearer "+p.key).body), "\r\n")
		got := slices.Sorted(maps.Keys(list.Data[0]))
		got = slices.DeleteFunc(got, func(name string) bool { return slices.Contains(strings.Split(header, ","), name) })
		var want []string
		if m := named.FindStringSubmatch(description.Paths[path].Get.Description); m != nil {
			want = strings.Split(strings.ReplaceAll(m[1], "`", ""), ", ")
			slices.Sort(want)
			told++
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: tables leave out %v, and the description says %v", path, got, want)
		}
	}
	if seen < 5 || told < 2 {
		t.Errorf("%d lists have rows, and %d leave something out", seen, told)
	}
}
