package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decoders are calls that parse texts from outside. A file with such a call must be named in census.
var decoders = map[string]string{
	"encoding/json": "Unmarshal NewDecoder", "encoding/xml": "Unmarshal NewDecoder", "encoding/csv": "NewReader", "archive/zip": "NewReader OpenReader",
	"compress/gzip": "NewReader", "compress/zlib": "NewReader", "archive/tar": "NewReader", "encoding/hex": "Decode DecodeString",
	"net/url": "Parse ParseQuery", "golang.org/x/net/html": "Parse NewTokenizer", "bufio": "NewScanner NewReader", "encoding/binary": "Read",
	"net/netip": "ParseAddr ParseAddrPort ParsePrefix", "mime": "ParseMediaType", "encoding/pem": "Decode", "encoding/asn1": "Unmarshal UnmarshalWithParams", "net/http": "ParseTime",
	"github.com/ethereum/go-ethereum/common/hexutil": "Decode DecodeBig DecodeUint64", "github.com/ethereum/go-ethereum/crypto": "SigToPub Ecrecover",
	"github.com/xuri/excelize/v2": "OpenReader", "tidemark/chain/audit": "Decode NewReader",
}

// methods are decoders that are methods of values.
var methods = []string{"ParseForm", "DecodeString", "Unpack", "UnpackIntoInterface"}

// census names, for each file or folder (ending in a slash) with a decoder, the fuzz targets that give it texts from outside. After
// "ours:", it says why the file reads no such texts.
var census = map[string]string{
	"accounts/key.go":                    "accounts.FuzzKey",
	"accounts/stripe/":                   "accounts/stripe.FuzzEvent",
	"accounts/x402/client.go":            "accounts/x402.FuzzFacilitatorAnswers",
	"accounts/x402/payment.go":           "accounts/x402.FuzzDecode",
	"accounts/x402/delivery.go":          "accounts/x402.FuzzReceiptOfAPayer",
	"accounts/x402/":                     "accounts/x402.FuzzFacilitatorAnswers",
	"api/address.go":                     "api.FuzzTheClientsAddress",
	"api/agents.go":                      "ours: PUBLIC_URL",
	"api/alerts.go":                      "internal/pushes.FuzzRule api.FuzzBody",
	"api/body.go":                        "api.FuzzBody",
	"api/endpoint/":                      "ours: the program's own table",
	"api/keyring.go":                     "accounts.FuzzKey api.FuzzFields",
	"api/mcp/arguments.go":               "api/mcp.FuzzArguments",
	"api/mcp/":                           "api/mcp.FuzzArguments",
	"api/openapi/":                       "ours: descriptions that are part of the program, and its tests",
	"api/pages/changelog.go":             "ours: the changelog that is part of the program",
	"api/pages/":                         "api.FuzzQuery",
	"api/parameters.go":                  "api.FuzzQuery",
	"api/session.go":                     "api.FuzzForm",
	"api/fastpath/":                      "api/fastpath.FuzzParse",
	"api/verify.go":                      "api.FuzzQuery",
	"api/view/history.go":                "api/view.FuzzReadCursor",
	"api/view/listing.go":                "api/view.FuzzReadCursor",
	"api/view/page.go":                   "api/view.FuzzPlace",
	"api/view/":                          "ours: rows of the database, which the workers checked",
	"backfill/":                          "ours: questions that were asked before",
	"chain/audit/":                       "chain/audit.FuzzAnswers",
	"chain/audit/reader.go":              "cmd/tidemark.FuzzEvidenceOfAServer cmd/tidemark.FuzzForecastsOfAServer",
	"chain/base/eas.go":                  "chain/base.FuzzDecodeStatement chain/base.FuzzNodeAnswers",
	"chain/base/proof.go":                "chain/base.FuzzSignature",
	"chain/base/":                        "chain/base.FuzzNodeAnswers",
	"chain/gitledger/entry.go":           "chain/gitledger.FuzzLines",
	"chain/gitledger/state.go":           "chain/gitledger.FuzzLines chain/gitledger.FuzzObjects",
	"chain/gitledger/":                   "chain/gitledger.FuzzObjects",
	"chain/monitor/":                     "chain/monitor.FuzzAnswers",
	"chain/tlog/":                        "chain/tlog.FuzzLeaf chain/tlog.FuzzProof chain/tlog.FuzzCheckpoint chain/tlog.FuzzTilePath chain/tlog.FuzzBundle chain/tlog.FuzzPolicy",
	"chain/timestamp/":                   "chain/timestamp.FuzzReply",
	"chain/witness/":                     "chain/witness.FuzzAddCheckpoint",
	"chain/":                             "chain.FuzzPreimageNamesOneLink chain.FuzzCheckAgreesWithTheRules",
	"cmd/tidemark/explain_url.go":        "cmd/tidemark.FuzzEvidenceOfAServer",
	"cmd/tidemark/explain_url_beside.go": "cmd/tidemark.FuzzNoteOfASandbox",
	"cmd/tidemark/ops.go":                "ours: what the operator's own roles answer",
	"cmd/tidemark/program.go":            "ours: a file of the operator's state",
	"cmd/tidemark/scorecard.go":          "cmd/tidemark.FuzzForecastsOfAServer",
	"cmd/tidemark/verify_receipt.go":     "accounts/x402.FuzzReceiptOfAPayer",
	"ingest/archive/manifest.go":         "ingest/archive.FuzzReadManifest",
	"ingest/archive/":                    "ingest/archive.FuzzReadManifest",
	"ingest/bls/":                        "ingest/bls.FuzzParse",
	"ingest/ecb/":                        "ingest/ecb.FuzzParse",
	"ingest/edgar/":                      "ingest/edgar.FuzzCompanies ingest/edgar.FuzzSubmissions ingest/edgar.FuzzFacts ingest/edgar.FuzzCurrent ingest/edgar.FuzzDocument",
	"ingest/eia/":                        "ingest/eia.FuzzPage ingest/eia.FuzzAPI ingest/eia.FuzzRowsOfTheAPI",
	"ingest/fed/":                        "ingest/fed.FuzzParse",
	"ingest/fred/":                       "ingest/fred.FuzzParse",
	"ingest/ingesttest/":                 "ours: cases of the tests",
	"ingest/nass/":                       "ingest/nass.FuzzSpreadsheet ingest/nass.FuzzAPI ingest/nass.FuzzName",
	"ingest/portwatch/":                  "ingest/portwatch.FuzzAnswer",
	"ingest/prices/":                     "ingest/prices.FuzzNasdaq ingest/prices.FuzzYahoo ingest/prices.FuzzTiingo ingest/prices.FuzzCSV",
	"ingest/quality/":                    "ours: observations that were parsed",
	"ingest/temis/":                      "ingest/temis.FuzzGrid",
	"ingest/world/":                      "ours: archives and made-up answers of worlds that are not live",
	"ingest/worldbank/":                  "ingest/worldbank.FuzzLanding ingest/worldbank.FuzzWorkbook ingest/worldbank.FuzzSheet",
	"ingest/redirect.go":                 "ingest.FuzzLocation",
	"ingest/":                            "ingest/eia.FuzzPage ingest/ecb.FuzzParse ingest.FuzzLocation",
	"internal/backup/":                   "ours: backups of the operator",
	"internal/config/":                   "ours: settings of the operator",
	"cmd/tidemark/log_commands.go":       "ours: the addresses of a policy, which the operator wrote",
	"internal/devchain/":                 "ours: a development chain",
	"internal/devstack/":                 "ours: servers of tests and of up",
	"internal/pgtest/":                   "ours: databases of tests",
	"internal/postgres/":                 "ours: rows and notifications of the database",
	"internal/redisurl/":                 "ours: a setting of the operator",
	"internal/simulate/":                 "ours: the simulation",
	"internal/telemetry/trace_carry.go":  "internal/telemetry.FuzzTraceparent",
	"internal/telemetry/":                "ours: settings of the operator, and a collector of tests",
	"internal/ops/":                      "ours: rows of the database, Redis, and the service manager",
	"picks/":                             "picks.FuzzCheckNumbers",
	"internal/pushes/":                   "internal/pushes.FuzzRule internal/pushes.FuzzTarget",
	"internal/publicnet/":                "internal/pushes.FuzzTarget",
	"scheduler/":                         "ours: the queue",
	"signals/":                           "ours: embedded texts",
	"workers/":                           "ours: the queue, and rows of the database",
}

// skipped are folders without code of the program.
var skipped = []string{".cache", ".git", "bench", "build", "examples", "test", "tools", "node_modules", "testdata"}

// goFiles calls f for every Go file of the program, with its path within the module.
func goFiles(t *testing.T, f func(path string)) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if d.IsDir() && path != root && (slices.Contains(skipped, d.Name()) || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") {
			f(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reads returns the first decoder that a file calls, empty if it calls none.
func reads(t *testing.T, path string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]string{}
	for _, i := range file.Imports {
		full := strings.Trim(i.Path.Value, `"`)
		name := full[strings.LastIndex(full, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = full
	}
	found := ""
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found != "" {
			return found == ""
		}
		fun := call.Fun
		if generic, ok := fun.(*ast.IndexExpr); ok {
			fun = generic.X
		}
		sel, ok := fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, _ := sel.X.(*ast.Ident)
		switch {
		case of != nil && slices.Contains(strings.Fields(decoders[imports[of.Name]]), sel.Sel.Name):
			found = of.Name + "." + sel.Sel.Name
		case slices.Contains(methods, sel.Sel.Name):
			found = sel.Sel.Name
		}
		return true
	})
	return found
}

// entry returns the line of the census for a file: the line with its name, or of the nearest folder above it.
func entry(path string) (key, said string) {
	if said, ok := census[path]; ok {
		return path, said
	}
	for dir := path; strings.Contains(dir, "/"); {
		dir = dir[:strings.LastIndex(dir, "/")]
		if said, ok := census[dir+"/"]; ok {
			return dir + "/", said
		}
	}
	return "", ""
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// testsOf maps each test and fuzz target, as "chain/base.FuzzSignature", to its file, including the tests below test/.
func testsOf(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(path string) {
		b, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(b), -1) {
			found[strings.TrimSuffix(filepath.ToSlash(filepath.Dir(path)), "/")+"."+m[1]] = path
		}
	}
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			add(path)
		}
	})
	more, err := filepath.Glob("../../test/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range more {
		add(strings.TrimPrefix(filepath.ToSlash(m), "../../"))
	}
	return found
}

func TestEveryDecoderOfStrangersTextsHasAFuzzTarget(t *testing.T) {
	t.Parallel()
	tests, used := testsOf(t), map[string]bool{}
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/synth/") || strings.Contains(path, "sandbox") || strings.Contains(path, "/generate/") {
			return
		}
		what := reads(t, path)
		key, said := entry(path)
		used[key] = used[key] || what != ""
		if what != "" && said == "" {
			t.Errorf("%s calls %s: whose texts does it read? Give it a fuzz target and a line in census", path, what)
		}
	})
	targets := 0
	for key, said := range census {
		if strings.HasPrefix(said, "ours: ") {
			continue
		}
		for target := range strings.FieldsSeq(said) {
			targets++
			if _, ok := tests[target]; !ok || !strings.Contains(target, ".Fuzz") {
				t.Errorf("%s: there is no fuzz target %s", key, target)
			}
		}
	}
	if targets < 40 || len(used) < 40 {
		t.Errorf("the census names %d targets and meets %d places: it does not look", targets, len(used))
	}
}

// publisherFaults says what a publisher's folder lacks. said is its line in census, and text its tests.
func publisherFaults(dir, said, text string) (faults []string) {
	if !slices.ContainsFunc(strings.Fields(said), func(target string) bool { return strings.HasPrefix(target, dir+".Fuzz") }) {
		faults = append(faults, dir+" has no fuzz target in its line of census")
	}
	if !strings.Contains(text, "ingesttest.Check(") {
		faults = append(faults, dir+" has no test that runs the cases in its testdata (ingesttest.Check)")
	}
	return faults
}

// Each publisher has its own line in census, because the line of ingest/ would hide a parser without a target.
func TestEachPublisherHasAFuzzTargetAndRunsItsCases(t *testing.T) {
	t.Parallel()
	list, err := parser.ParseFile(token.NewFileSet(), "../../ingest/sources/sources.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	publishers := 0
	for _, i := range list.Imports {
		dir, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "tidemark/")
		if !ok || !strings.HasPrefix(dir, "ingest/") || strings.HasPrefix(dir, "ingest/world/") || dir == "ingest/world" {
			continue
		}
		publishers++
		files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		for _, fault := range publisherFaults(dir, census[dir+"/"], text.String()) {
			t.Error(fault)
		}
	}
	if publishers < 11 {
		t.Errorf("%d publishers were found: the test looks at the wrong imports", publishers)
	}
	if faults := publisherFaults("ingest/new", "ingest/ecb.FuzzParse", "package new"); len(faults) != 2 {
		t.Errorf("a publisher without a target and a test has the faults %q", faults)
	}
}

// A folder of commands has both: files that read the operator's settings, and files that read what a stranger's server answers. A line for
// the whole folder hid the latter.
func TestTheCommandsHaveALineForEachFileThatDecodes(t *testing.T) {
	t.Parallel()
	for key := range census {
		if strings.HasPrefix(key, "cmd/") && strings.HasSuffix(key, "/") {
			t.Errorf("%s speaks for a whole folder", key)
		}
	}
	for _, file := range []string{"cmd/tidemark/explain_url.go", "cmd/tidemark/scorecard.go"} {
		if what := reads(t, file); what == "" || strings.HasPrefix(census[file], "ours:") {
			t.Errorf("%s reads a server's answers: %q, %s", file, what, census[file])
		}
	}
}

// The threat model names the tests that prove its claims. A renamed test must be renamed there too.
func TestTheThreatModelNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t)
	named := regexp.MustCompile("`([a-z0-9/]+\\.(?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(b), -1)
	for _, m := range named {
		if _, ok := tests[m[1]]; !ok {
			t.Errorf("there is no test %s", m[1])
		}
	}
	if all := regexp.MustCompile(`(?:Test|Fuzz)[A-Z]\w+`).FindAllString(string(b), -1); len(named) < 30 || len(all) != len(named) {
		t.Errorf("%d tests are named as `package.Test`, %d in all", len(named), len(all))
	}
}
