// Package extend does the tasks of CONTRIBUTING.md in a copy of the module. It adds a seventh signal, the publisher that it reads, a column of picks, another
// z-score, a paid endpoint and a fifth language. It touches exactly the files that the page names (contributing_test.go). It starts the program that is
// built from the copy and asks every surface whether it knows the additions (census_test.go). It names each surface that does not.
package extend

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/test/program"
)

const (
	signal = "newcomer-transits"
	sold   = "/watchlist"
	lang   = "fr"
	// source is the newcomer's, and setting the name of its key.
	source  = "newcomer-counts"
	setting = "NEWCOMER_API_KEY"
	// column is a member of a pick, and score the rule of a z-score.
	column = "rank"
	score  = "the season of ten days"
)

// left are the folders of the module that no program is built of.
var left = regexp.MustCompile(`^(\.git|\.cache|\.tidemark|build|node_modules)$`)

// module copies the module, adds to it, and runs what CONTRIBUTING.md says. The commands must write the documents that the page names.
func module(t *testing.T) string {
	t.Helper()
	dir := program.Folder(t)
	copied(t, dir)
	for _, a := range additions(t) {
		a.write(t, dir)
	}
	run(t, dir, "go", "test", "-vet=off", "./api/openapi/generate", "-run", "TestTheDocumentsOfTheProgram", "-update")
	for _, file := range []string{"api/openapi/service.json", "api/openapi/signals.json"} {
		if text(t, filepath.Join(dir, file)) == text(t, filepath.Join(root, file)) {
			t.Errorf("%s is written by no task, and CONTRIBUTING.md names it", file)
		}
	}
	run(t, dir, "go", "vet", "./signals", "./ingest/...", "./internal/locale/...", "./picks", "./api/...", "./workers", "./internal/postgres", "./internal/config", "./cmd/tidemark")
	run(t, dir, "go", "test", "-vet=off", "./picks", "./api/pages", "./internal/locale/...", "-run", "Language|Word|Phrase|Exposures|EventTexts|DigestOfAWeek")
	run(t, dir, "go", "test", "-vet=off", "./api/endpoint", "./ingest/newcomer", "-run", ".")
	run(t, dir, "go", "test", "-vet=off", "./api", "./api/openapi", "-run", "InfoSays|PaymentIsAskedFor|TestPublished|DescriptionIsOf")
	run(t, dir, "go", "test", "-vet=off", "./signals", "-run", "Catalog|Sample|Crack|Formulas|Brief|States|Cells")
	run(t, dir, "go", "test", "-vet=off", "./test/stats", "-run", "TheTableOfIntervals|EveryFigure|CrackSpreadAgrees|IntervalsHave")
	run(t, dir, "go", "test", "-vet=off", "./workers", "-run", "AllowsForTheVersions")
	run(t, dir, "go", "test", "-vet=off", "./internal/postgres", "-run", "Migration|RecordMakes|CardIsPublic|FoundLate")
	run(t, dir, "go", "test", "-vet=off", "./ingest/sources", "./test/compose", "-run", "Whole|Place|OperatorsFile")
	run(t, dir, "go", "test", "-vet=off", "./api/openapi/generate", "./internal/arch", "-run", "Valid|Table|Node|Folders|Decoder|Publisher")
	return dir
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestWhatANewcomerAddsIsKnownEverywhere(t *testing.T) {
	t.Parallel()
	dir := module(t)
	remove := program.BuildIn(dir)
	t.Cleanup(remove)
	p := up(t, 12)

	var key registered
	program.Until(t, program.Timeout, "a digest is there", func() (bool, string) {
		if key.Data.APIKey == "" {
			if err := register(t.Context(), p.base, &key); err != nil {
				return false, err.Error()
			}
		}
		status, _, err := ask(t.Context(), p.base, key.Data.APIKey, surface{path: "/api/v1/digest/latest"})
		return status == http.StatusOK, fmt.Sprint(status, err)
	})
	program.Until(t, program.Timeout, "a pick is announced", func() (bool, string) {
		status, _, err := ask(t.Context(), p.base, key.Data.APIKey, surface{path: "/api/v1/picks/latest"})
		return status == http.StatusOK, fmt.Sprint(status, err)
	})
	program.Until(t, program.Timeout, "the new signal has a value", func() (bool, string) {
		_, text, err := ask(t.Context(), p.base, "", surface{path: "/api/signals/" + signal})
		return err == nil && strings.Contains(text, `"observed_at":"`), text
	})
	answers := p.answer(t, key.Data.APIKey)
	// While days pass, a signal may lack the value of its day, and doctor names that in place of the number of signals. So the census reads the
	// answer that found nothing wrong.
	var doctor answer
	program.Until(t, program.Timeout, "doctor finds nothing wrong", func() (bool, string) {
		doctor = answers(surface{args: []string{"doctor"}})
		return doctor.status == 0, doctor.text
	})
	for _, fault := range census(surfaces(), func(s surface) answer {
		if s.name == "doctor" {
			return doctor
		}
		return answers(s)
	}) {
		t.Error(fault)
	}
}

// The program as it is has none of the additions. A surface that finds them there would never miss them. It ends before the parallel test
// builds another program in its place.
func TestEachSurfaceMissesWhatWasNotAdded(t *testing.T) { //nolint:paralleltest // see above
	t.Cleanup(program.Build())
	p := up(t, 2)
	var key registered
	program.Until(t, program.Timeout, "a key is registered", func() (bool, string) {
		err := register(t.Context(), p.base, &key)
		return err == nil, fmt.Sprint(err)
	})
	program.Until(t, program.Timeout, "the signals are read", func() (bool, string) { // before that, any signal may be one that is not read yet
		status, _, err := ask(t.Context(), p.base, "", surface{path: "/api/signals"})
		return status == http.StatusOK, fmt.Sprint(status, err)
	})
	for _, s := range surfaces() {
		if strings.HasPrefix(s.name, "digest in ") && s.thing != lang {
			continue // it asks for a language that the program has
		}
		if faults := census([]surface{s}, p.answer(t, key.Data.APIKey)); len(faults) != 1 {
			t.Errorf("%s: %s %v knows what was not added (%q)", s.name, s.path, s.args, faults)
		}
	}
}

// sandbox is a running program.
type sandbox struct {
	options program.Options
	// base is the address of the public API, ops the address of the operators' listener.
	base, ops string
}

// up starts a sandbox of some days.
func up(t *testing.T, days int) sandbox {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	p := sandbox{ops: "http://" + address, options: program.Options{Dir: program.Folder(t), Env: []string{
		"OPS_ADDR=" + address, "WORLD=sandbox", fmt.Sprintf("SANDBOX_DAYS=%d", days), "LOG_FORMAT=json",
	}}}
	_, p.base = program.Up(t, p.options)
	return p
}

// answer asks the program with a key. It repeats a request that was over the rate limit, and a command whose data changed while it read.
func (p sandbox) answer(t *testing.T, key string) func(surface) answer {
	t.Helper()
	return func(s surface) (a answer) {
		for range 60 {
			if len(s.args) > 0 {
				args := s.args
				if args[0] != "help" {
					args = append(slices.Clone(args), "--state-dir="+filepath.Join(p.options.Dir, "state"))
				}
				a.status, a.text = program.Run(t, p.options, args...)
				// The sandbox still simulates its days, so new data may come while a command reads.
				if !strings.Contains(a.text, "while they were read") {
					return a
				}
				continue
			}
			base := p.base
			if s.ops {
				base = p.ops
			}
			a.status, a.text, a.err = ask(t.Context(), base, key, s)
			if a.err != nil || a.status != http.StatusTooManyRequests { // waiting for the first digest may have used up the requests of a minute
				return a
			}
			select {
			case <-t.Context().Done():
			case <-time.After(time.Second):
			}
		}
		return a
	}
}

// registered is the response to a registration.
type registered struct {
	Data struct {
		APIKey string `json:"api_key"`
	}
}

func register(ctx context.Context, base string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/auth/register", strings.NewReader(`{"name":"extend"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return program.Do(req, http.StatusCreated, into)
}

func ask(ctx context.Context, base, key string, s surface) (int, string, error) {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if s.body != "" {
		method, body = http.MethodPost, strings.NewReader(s.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+s.path, body)
	if err != nil {
		return 0, "", err
	}
	if s.body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if strings.HasPrefix(s.path, "/api/v1/") && key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}
