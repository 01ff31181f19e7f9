package view_test

import (
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/signals"
)

func TestNewReportsEveryFault(t *testing.T) {
	t.Parallel()
	good := signals.Definition{
		ID: "a", Description: strings.Repeat("what it measures ", 4), SourceURL: "https://up.example/a", LicenseURL: "https://up.example/b",
	}
	brief, long, nowhere := good, good, good
	brief.ID, brief.Description = "brief", "too short"
	long.ID, long.Description = "long", strings.Repeat("é", 4990) // fits only without the sandbox's warning
	nowhere.ID, nowhere.LicenseURL = "nowhere", "public domain"
	tests := map[string]struct {
		o    view.Options
		want []string // parts of the error; none: no error
	}{
		"nothing wrong": {o: view.Options{PublicURL: "http://127.0.0.1:8080/", World: "live", Definitions: []signals.Definition{good}}},
		"everything wrong": {
			o: view.Options{PublicURL: "example.com", World: "demo", Definitions: []signals.Definition{good, good, brief, long, nowhere}},
			want: []string{
				`PUBLIC_URL is not an absolute http or https address: "example.com"`, `unknown world "demo"`, "two signals have the id a",
				"signal brief: the description", "signal long: the description", `signal nowhere: not an absolute http or https address: "public domain"`,
			},
		},
		"no address at all": {o: view.Options{World: "replay"}, want: []string{"PUBLIC_URL"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := view.New(tt.o)
			if (err != nil) != (len(tt.want) > 0) || (v == nil) != (err != nil) {
				t.Fatalf("New = %v, %v", v, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestProblemKinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range view.ProblemKinds() {
		if seen[k.Code] || k.Title == "" || k.Meaning == "" || k.Remedy == "" || k.Status < 400 || k.Status > 599 {
			t.Errorf("incomplete, or twice: %+v", k)
		}
		seen[k.Code] = true
		if got, ok := view.ProblemKindOf(k.Code); !ok || got != k {
			t.Errorf("ProblemKindOf(%s) = %+v, %v", k.Code, got, ok)
		}
	}
	if _, ok := view.ProblemKindOf("none"); ok {
		t.Error("there is a kind with an unknown code")
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	modified := time.Date(2026, 3, 4, 5, 30, 15, 0, time.FixedZone("east", 3600))
	long := view.NewDocument(view.TypeJSON, view.CachePublic, []byte(strings.Repeat("a", 1024)), modified)
	if long.Gzip.Body == nil || long.Gzip.Header.Get("Content-Encoding") != "gzip" || long.Identity.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("1 KiB is not compressed: %v", long.Gzip.Header)
	}
	if got := long.Identity.Header.Get("Last-Modified"); got != "Wed, 04 Mar 2026 04:30:15 GMT" {
		t.Errorf("Last-Modified = %q", got)
	}
	// The first 16 bytes of the SHA-256 of the empty body (FIPS 180-4's well-known digest e3b0c442...).
	empty := view.NewDocument(view.TypeJSON, view.CachePublic, nil, time.Time{})
	if empty.Identity.ETag != `"e3b0c44298fc1c149afbf4c8996fb924"` || empty.Gzip.Body != nil || empty.Identity.Header.Get("Vary") != "" ||
		empty.Identity.Header.Get("Last-Modified") != "" {
		t.Errorf("an empty document: %s, %v", empty.Identity.ETag, empty.Identity.Header)
	}
}
