package arch

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestTheModuleKeepsToTheTable(t *testing.T) {
	t.Parallel()
	watch(t)
	for _, fault := range judge(load(t)) {
		t.Error(fault)
	}
}

// load returns the packages of this module and all packages that they reach, from the go command.
func load(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Doc,Dir,Imports,GoFiles,TestGoFiles,XTestGoFiles,Standard", "./...")
	cmd.Dir = root
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaint.String())
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Doc, Dir               string
			Imports                            []string
			GoFiles, TestGoFiles, XTestGoFiles []string
			Standard                           bool
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if len(p.GoFiles) == 0 && p.Doc == "" {
			p.Doc = docOf(t, p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
		}
		all = append(all, pkg{path: p.ImportPath, doc: p.Doc, imports: p.Imports, standard: p.Standard})
	}
}

// docOf returns the package comment of a package that has test files only. The go command does not read it.
func docOf(t *testing.T, dir string, files []string) string {
	t.Helper()
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc != nil {
			return f.Doc.Text()
		}
	}
	return ""
}

// watch reads the status of every Go file of the module in this process. The go command runs a test again if a file that the test opened
// has changed, but does not see files that child processes open. Without watch, a fault in another package would hide behind a cached pass.
func watch(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go"), d.Name() == "go.mod":
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file that was deleted meanwhile
		t.Fatal(err)
	}
}

// maxPackages is the maximum number of packages of others in the linked program, including the standard library. `make size` prints the
// present numbers. A change that needs more raises it, and gives the reason. The module's own packages do not count: a publisher and a
// language are a folder each, and need no other place.
const maxPackages = 943

// carried are packages that the program must never include: an EVM node, the network protocols of nodes, and their databases.
var carried = regexp.MustCompile(`^github\.com/(ethereum/go-ethereum/(p2p|eth|node|rpc|core/txpool|ethdb/(leveldb|pebble))|syndtr/goleveldb|cockroachdb/pebble)(/|$)`)

func TestTheProgramCarriesNoNode(t *testing.T) {
	t.Parallel()
	watch(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/tidemark")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := slices.DeleteFunc(strings.Fields(string(out)), func(path string) bool { return strings.HasPrefix(path, "tidemark/") })
	if len(all) > maxPackages {
		t.Errorf("cmd/tidemark is linked of %d packages of others, want at most %d", len(all), maxPackages)
	}
	for _, path := range all {
		if carried.MatchString(path) {
			t.Errorf("cmd/tidemark carries %s", path)
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	std := func(path string, imports ...string) pkg { return pkg{path: path, imports: imports, standard: true} }
	lib := func(path string, imports ...string) pkg { return pkg{path: path, imports: imports} }
	our := func(path string, imports ...string) pkg {
		return pkg{path: "tidemark/" + path, imports: imports, doc: "Package comment."}
	}
	for _, test := range []struct {
		fact string
		all  []pkg
		want []string
	}{
		{"an import of its row is fine", []pkg{our("signals", "math", "tidemark/internal/series"), our("internal/series", "time")}, nil},
		{
			"an import that its row lacks",
			[]pkg{our("signals", "tidemark/internal/postgres"), our("internal/postgres")},
			[]string{"signals imports internal/postgres: its row allows internal/series, internal/codehash, internal/locale"},
		},
		{
			"a leaf that imports",
			[]pkg{our("internal/series", "tidemark/internal/equity"), our("internal/equity")},
			[]string{"internal/series imports internal/equity: its row allows nothing of this module"},
		},
		{"a package without a row", []pkg{our("utils")}, []string{"utils has no row in the table of internal/arch: decide what it may import"}},
		{"a package without a comment", []pkg{{path: "tidemark/internal/series"}}, []string{"internal/series has no package comment"}},
		{
			"what must never be reached, through others",
			[]pkg{our("picks", "tidemark/signals"), our("signals", "example.org/stats"), lib("example.org/stats", "net/http"), std("net/http")},
			[]string{
				"picks reaches net/http (signals -> example.org/stats -> net/http): its row says never, even through others",
				"signals reaches net/http (example.org/stats -> net/http): its row says never, even through others",
			},
		},
		{
			"a database driver in the chain",
			[]pkg{our("chain", "database/sql"), std("database/sql")},
			[]string{"chain reaches database drivers (database/sql): its row says never, even through others"},
		},
		{
			"any library in the chain",
			[]pkg{our("chain", "example.org/hash"), lib("example.org/hash")},
			[]string{"chain reaches other modules (example.org/hash): its row says never, even through others"},
		},
		{
			"one source that imports another",
			[]pkg{our("ingest/eia", "tidemark/ingest/nass"), our("ingest/nass")},
			[]string{
				"ingest/eia imports ingest/nass: its row allows ingest, internal/series, internal/equity, internal/concepts, ingest/world/synth",
				"ingest/eia reaches other sources (ingest/nass): its row says never, even through others",
			},
		},
		{"the list of sources imports each", []pkg{our("ingest/sources", "tidemark/ingest/eia"), our("ingest/eia")}, nil},
		{
			"the list of sources imports the archive",
			[]pkg{our("ingest/sources", "tidemark/ingest/archive"), our("ingest/archive")},
			[]string{"ingest/sources imports ingest/archive: its row allows ingest, ingest/*, ingest/world, ingest/world/synth, internal/config"},
		},
		{
			"the API that reaches the workers",
			[]pkg{our("api", "tidemark/api/view"), our("api/view", "tidemark/internal/postgres"), our("internal/postgres", "tidemark/workers"), our("workers")},
			[]string{
				"api reaches workers (api/view -> internal/postgres -> workers): its row says never, even through others",
				"api/view reaches workers (internal/postgres -> workers): its row says never, even through others",
				"internal/postgres imports workers: its row allows internal/series, internal/equity, internal/calendar, internal/columns, signals, signals/forecast, signals/changes, picks, chain, chain/tlog, accounts, migrations, internal/scram, internal/task, internal/telemetry",
			},
		},
		{
			"the names of tasks are for both sides",
			[]pkg{our("api", "tidemark/internal/postgres"), our("internal/postgres", "tidemark/internal/task"), our("internal/task")},
			nil,
		},
		{
			"a library outside its room",
			[]pkg{our("internal/ops", "github.com/ethereum/go-ethereum/ethclient")},
			[]string{"internal/ops imports github.com/ethereum/go-ethereum/ethclient: only chain/base, internal/devchain may"},
		},
		{"a library in its room", []pkg{our("chain/base", "github.com/ethereum/go-ethereum/ethclient")}, nil},
		{"asynqmon is not asynq", []pkg{our("workers", "github.com/hibiken/asynqmon")}, []string{"workers imports github.com/hibiken/asynqmon: only internal/ops may"}},
		{
			"the program that imports a test room",
			[]pkg{our("cmd/tidemark", "tidemark/internal/pgtest", "tidemark/api"), our("internal/pgtest"), our("api")},
			[]string{"cmd/tidemark imports internal/pgtest: its row allows any room but tests"},
		},
		{"suites import any room and library", []pkg{our("test/faults", "tidemark/cmd/tidemark", "github.com/hibiken/asynq"), our("cmd/tidemark")}, nil},
		{
			"a room that imports a suite",
			[]pkg{our("api", "tidemark/test/faults"), our("test/faults")},
			[]string{"api imports test/faults: its row allows api/fastpath, api/endpoint, api/view, internal/locale/languages, internal/nearest, internal/series, signals, picks, chain, chain/tlog, accounts, accounts/x402, accounts/stripe, internal/httpserve, internal/pushes, internal/postgres, internal/redisurl, internal/telemetry"},
		},
	} {
		t.Run(test.fact, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, judge(test.all)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// A misspelt name in the table would silently allow or forbid nothing.
func TestTheTableNamesOnlyWhatItKnows(t *testing.T) {
	t.Parallel()
	special := []string{anyRoom, noTests, noCmd, theirOwn, "other modules"}
	known := func(name string) bool {
		_, isWord := words[name]
		return isWord || named(name) || slices.Contains(special, name) || strings.HasSuffix(name, "/*") || strings.HasSuffix(name, "/...")
	}
	seen := map[string]bool{}
	for _, r := range table {
		for _, name := range list(r.rooms) {
			if seen[name] {
				t.Errorf("%s has two rows", name)
			}
			seen[name] = true
		}
		for _, name := range slices.Concat(list(r.may), list(r.never)) {
			if !known(name) {
				t.Errorf("the row of %s names %q, which has no row and is no word", r.rooms, name)
			}
		}
	}
	for _, m := range modules {
		for _, name := range list(m.rooms) {
			if !known(name) {
				t.Errorf("the rooms of %s name %q, which has no row", m.path, name)
			}
		}
	}
}
