package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/signals"
	"tidemark/test/program"
)

var (
	npmFlag     = flag.String("npm", "", "the folder with the packages, installed, and the steps")
	browserFlag = flag.String("browser", "", "Chromium")
	shotsFlag   = flag.String("screenshots", "", "the folder that gets pictures of the pages")

	stepsFlag    = flag.String("steps", "", "only the steps whose names this pattern of JavaScript matches")
	picturesFlag = flag.Bool("pictures", false, "take a picture of every page in every state, instead of the steps")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *npmFlag == "" {
		os.Exit(m.Run())
	}
	remove := program.Build()
	status := m.Run()
	remove()
	os.Exit(status)
}

func TestPages(t *testing.T) {
	if *npmFlag == "" {
		t.Skip("make browser runs this, with a browser and packages of npm")
	}
	dir := program.Folder(t)
	if *picturesFlag {
		steps(t, start(t, dir), "states.test.mjs", time.Hour)
		return
	}
	whole := start(t, dir)
	free := startFree(t, dir)
	// A browser waits often for its pages, so two of them take less time together than in turn.
	t.Run("pages", func(t *testing.T) {
		t.Parallel()
		steps(t, whole, "pages.test.mjs", 30*time.Minute)
	})
	t.Run("others", func(t *testing.T) {
		t.Parallel()
		steps(t, whole, "apps.test.mjs", 12*time.Minute)
		steps(t, whole, "duckdb.test.mjs", 5*time.Minute)
		steps(t, free, "free.test.mjs", 12*time.Minute)
	})
}

// steps drives the pages at an address, within a limit.
func steps(t *testing.T, address, file string, limit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	args := []string{"--test", "--test-reporter=spec"}
	if *stepsFlag != "" {
		args = append(args, "--test-name-pattern="+*stepsFlag)
	}
	cmd := exec.CommandContext(ctx, "node", append(args, file)...)
	cmd.Dir = *npmFlag
	vectors, err := filepath.Abs("../../chain/testdata/verdicts.json")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "TIDEMARK_URL="+address, "VECTORS="+vectors, "CHROMIUM="+*browserFlag, "SCREENSHOTS="+*shotsFlag, "NO_COLOR=1")
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var failed strings.Builder // what the reporter says of the failed steps, once all have run
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 1<<20) // a step that fails quotes whole pages
	for lines.Scan() {
		t.Log(lines.Text())
		if failed.Len() > 0 || strings.Contains(lines.Text(), "failing tests:") {
			fmt.Fprintln(&failed, lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the steps of %s: %v\n%s", file, err, failed.String())
	}
}

// days is how far back the sandbox begins: enough for a portfolio with a course, and for digests.
const days = "30"

// start runs the program, waits until it has lived through its days, and returns its address.
func start(t *testing.T, dir string) string {
	t.Helper()
	_, address := program.Up(t, program.Options{Dir: dir, Env: []string{"LOG_LEVEL=error", "RATE_LIMIT=off", "REGISTER_LIMIT=off"}},
		"--world=sandbox", "--sandbox-days="+days)
	newest := lastAnnounced(t, time.Now()).Format(time.DateOnly)
	program.Until(t, 8*time.Minute, "there are signals, and the pick of "+newest+" is announced and attested", func() (bool, string) {
		var served struct{ Count int }
		var record struct {
			Length      int    `json:"chain_length"`
			HeadDate    string `json:"head_date"`
			Attestation struct {
				Latest *struct{ Seq int }
			}
		}
		err := errors.Join(program.Get(t.Context(), address+"/readyz", nil), program.Get(t.Context(), address+"/api/signals", &served),
			program.Get(t.Context(), address+"/api/v1/verify/picks", &record))
		attested := record.Attestation.Latest != nil && record.Attestation.Latest.Seq == record.Length
		return err == nil && served.Count == len(signals.All()) && record.HeadDate == newest && attested, fmt.Sprint(err, served, record)
	})
	return address
}

// listening is where an API says that it listens.
var listening = regexp.MustCompile(`"setting":"ADDR","addr":"([^"]+)"`)

// startFree runs a second API in a folder, whose pages show only the free data, and returns its address.
func startFree(t *testing.T, dir string) string {
	t.Helper()
	var at struct {
		Database string `json:"database_api_url"`
		Redis    string `json:"redis_url"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "state", "sandbox", "connections.json"))
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := program.Start(t, program.Options{Dir: dir, Env: []string{
		"PAGES=free", "WORLD=sandbox", "ADDR=127.0.0.1:0", "DATABASE_URL=", "DATABASE_API_URL=" + at.Database, "REDIS_URL=" + at.Redis,
		"STATE_DIR=" + filepath.Join(dir, "free"), "RATE_LIMIT=off", "REGISTER_LIMIT=off", "LOG_FORMAT=json", "LOG_LEVEL=info",
	}}, "api")
	var address string
	program.Until(t, time.Minute, "an API with free pages is ready", func() (bool, string) {
		m := listening.FindStringSubmatch(p.Output())
		if m == nil {
			return false, "it does not listen yet"
		}
		address = "http://" + m[1]
		err := program.Get(t.Context(), address+"/readyz", nil)
		return err == nil, fmt.Sprint(err)
	})
	return address
}

// lastAnnounced is the newest day whose pick is announced at an instant.
func lastAnnounced(t *testing.T, now time.Time) time.Time {
	t.Helper()
	for day := calendar.DayOf(now); ; day = calendar.Previous(day) {
		if at, ok := calendar.Announcement(day, calendar.AnnouncementClock); ok && at.Before(now) {
			return day
		}
	}
}
