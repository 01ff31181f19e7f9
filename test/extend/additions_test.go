package extend

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/api/view"
	"tidemark/signals"
)

// root is the module's folder.
const root = "../.."

// addition is all that a newcomer writes for a task of CONTRIBUTING.md. Its paths are relative to the module.
type addition struct {
	// task is the task's row in CONTRIBUTING.md.
	task  string
	added map[string]string
	edits []edit
}

// edit replaces a text in a file. The file must have the text exactly once; with each, it may have several.
type edit struct {
	file, old, new string
	each           bool
}

// before inserts text in front of old, which the file must have exactly once.
func before(file, old, text string) edit { return edit{file: file, old: old, new: text + old} }

// touched returns the files that the addition changes. New files are not among them.
func (a addition) touched() []string {
	var files []string
	for _, e := range a.edits {
		files = append(files, e.file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// additions are the tasks of CONTRIBUTING.md, done as the page says.
func additions(t *testing.T) []addition {
	t.Helper()
	return []addition{newSignal(t), newPublisher(t), newColumn(t), newScore(), newEndpoint(t), newLanguage(t)}
}

func newSignal(t *testing.T) addition {
	t.Helper()
	return addition{
		task:  "A seventh signal",
		added: map[string]string{"signals/newcomer_transits.go": text(t, "testdata/newcomer_transits.go.txt")},
		edits: []edit{
			before("signals/catalog.go", "\t\thormuzTransit(),\n", "\t\tnewcomerTransits(),\n"),
			before("README.md", "| `hormuz-transit` |", "| `"+signal+"` | a newcomer's count of ships a day | Newcomers' Bureau |\n"),
			before("test/stats/briefs_test.go", "\t\"hormuz-transit\": {\n", "\t\""+signal+"\": {{\"90%\", method}},\n"),
		},
	}
}

// newPublisher is IMF PortWatch under another name, with a key that it does not need and no terms to accept. The new signal reads it.
func newPublisher(t *testing.T) addition {
	t.Helper()
	words := []string{
		"package portwatch", "package newcomer", "portwatch-hormuz", source, "portwatch.imf.org", "newcomer.example", "portwatch.", "newcomer.",
		"services9.arcgis.com", "newcomer.example", "International Monetary Fund", "Newcomers' Bureau", "\t\tTermsSetting: \"PORTWATCH_LICENSE_ACK\",\n", "",
		"func Source() ingest.Source {", "func Source(string) ingest.Source {",
	}
	added := folder(t, "ingest/portwatch", "ingest/newcomer", words...)
	for _, name := range []string{"body.json", "meta.json"} {
		file := "testdata/one-page/" + name
		added["ingest/newcomer/"+file] = strings.NewReplacer(words...).Replace(text(t, filepath.Join(root, "ingest/portwatch", file)))
	}
	added["ingest/newcomer/testdata/one-page/expected.csv"] = text(t, "testdata/newcomer_expected.csv")
	added["ingest/newcomer/newcomer_test.go"] = text(t, "testdata/newcomer_test.go.txt")
	return addition{
		task: "From a new publisher", added: added,
		edits: []edit{
			before("ingest/sources/sources.go", "\t\"tidemark/ingest/portwatch\"\n", "\t\"tidemark/ingest/newcomer\"\n"),
			before("ingest/sources/sources.go", "\t{only(bls.Source), bls.Sandbox, revising},\n",
				"\t{func(k config.Upstreams) []ingest.Source { return []ingest.Source{newcomer.Source(k.NewcomerKey)} }, newcomer.Sandbox, whole},\n"),
			before("internal/config/settings.go", "\tUserAgent  string `env:\"USER_AGENT\"",
				"\tNewcomerKey string `env:\""+setting+"\" secret:\"true\" help:\"Key of the Newcomers' Bureau.\"`\n"),
			before("docker-compose.yml", "EIA_API_KEY, ", setting+", "),
			before("internal/arch/fuzz_test.go", "\t\"ingest/portwatch/\":", "\t\"ingest/newcomer/\": \"ingest/newcomer.FuzzParse\",\n"),
		},
	}
}

func newColumn(t *testing.T) addition {
	t.Helper()
	a := addition{
		task: "A column of picks",
		// No number of this folder is higher, and none is needed twice.
		added: map[string]string{"migrations/9999_pick_rank.sql": text(t, "testdata/pick_rank.sql")},
		edits: []edit{
			before("internal/postgres/record.go", "\t// AppendedAt and AnnouncedAt are", "\tRank *int\n"),
			before("internal/postgres/record.go", "\t// AnnounceAt is the instant of", "\tRank *int\n"),
			{file: "internal/postgres/record.go", old: "@reason, @announce_at)`", new: "@reason, @announce_at, @rank)`"},
			before("internal/postgres/record.go", "\t\t\"announce_at\": announceAt,\n", "\t\t\"rank\": n.Rank,\n"),
			{file: "internal/postgres/record.go", old: "p.reason, p.appended_at`", new: "p.reason, p.appended_at, p.rank`"},
			before("api/view/picks.go", "\t// Origin is \"method\" if the method chose the pick", "\t// Rank is the pick's place among the companies scored that day.\n\tRank *int `json:\"rank\"`\n"),
			before("api/view/picks.go", "Origin: p.Origin,\n", "Rank: p.Rank, "),
			before("workers/pick.go", "\tif ranking.Chosen {\n", "\tif s.Rank > 0 {\n\t\tnext.Rank = &s.Rank\n\t}\n"),
			// The pick of that test has no rank.
			{file: "api/data_test.go", old: `"excess_return_from_entry_pct": nil, "origin":`, new: `"excess_return_from_entry_pct": nil, "rank": nil, "origin":`},
			{file: "api/data_test.go", old: ",SPY,0,0,method,", new: ",SPY,0,0,,method,"},
		},
	}
	// What a sandbox answers.
	for file, edits := range map[string][2]string{
		"getLatestDigest.json": {`"origin": "method",`, `"rank": 1, `},
		"getLatestPick.json":   {`"origin": "method",`, `"rank": 1, `},
		"listPicks.json":       {`"origin": "method",`, `"rank": 1, `},
		"listPicks.ndjson":     {`"origin":"method",`, `"rank":1,`},
	} {
		a.edits = append(a.edits, edit{file: "api/openapi/generate/examples/" + file, old: edits[0], new: edits[1] + edits[0], each: true})
	}
	for old, with := range map[string]string{",origin,": ",rank,origin,", ",method,": ",1,method,"} {
		a.edits = append(a.edits, edit{file: "api/openapi/generate/examples/listPicks.csv", old: old, new: with, each: true})
	}
	return a
}

// newScore compares the crack spread with another season, and says so in every language.
func newScore() addition {
	const file = "signals/crack_spread_321.go"
	a := addition{
		task: "Another z-score for one signal",
		edits: []edit{
			{file: file, old: "monthDayWindow{days: 15,", new: "monthDayWindow{days: 10,"},
			{file: file, old: "within 15 calendar days", new: "within 10 calendar days", each: true},
		},
	}
	for lang, old := range map[string][2]string{
		"es": {"media de todos los valores a no más de 15 días naturales", "media de todos los valores a no más de 15 días del"},
		"pt": {"média de todos os valores a até 15 dias corridos", "média de todos os valores a até 15 dias do"},
		"hi": {"उसी दिन और महीने से 15 दिन के भीतर के सभी", "दिन और महीने के 15 दिन के भीतर के सभी"},
	} {
		for i, name := range []string{"briefs.go", "signals.go"} {
			a.edits = append(a.edits, edit{file: "internal/locale/" + lang + "/" + name, old: old[i], new: strings.Replace(old[i], "15", "10", 1)})
		}
	}
	return a
}

func newEndpoint(t *testing.T) addition {
	t.Helper()
	a := addition{
		task:  "A paid endpoint",
		added: map[string]string{"api/view/watchlist.go": text(t, "testdata/watchlist.go.txt")},
		edits: []edit{
			before("api/endpoint/list.go", "\t\t{\n\t\t\tEndpoint: open(\"/events\")", text(t, "testdata/endpoint.txt")),
			before("api/endpoint/endpoint_test.go", "\t\t{\"/events\", ", "\t\t{\""+sold+"\", \"0.004\", false},\n"),
		},
	}
	// Its recorded answers, which a newcomer takes from a sandbox.
	for _, kind := range []string{".json", ".csv", ".ndjson", "-402.json"} {
		examples := "api/openapi/generate/examples/"
		a.added[examples+"listWatched"+kind] = text(t, filepath.Join(root, examples, "listSectors"+kind))
	}
	return a
}

// newLanguage is French, with English words and numbers: the test checks that they are found, not that they are right.
func newLanguage(t *testing.T) addition {
	t.Helper()
	var named strings.Builder
	for i, d := range append(signals.All(), signals.Definition{ID: signal}) {
		// A name without digits, because the tests of the texts compare numbers.
		_, _ = fmt.Fprintf(&named, "%q: %q, ", d.ID, "the newcomer's signal "+string(rune('a'+i)))
	}
	const list = "internal/locale/languages/languages.go"
	a := addition{
		task: "A language",
		added: folder(t, "internal/locale/en", "internal/locale/fr", "package en", "package fr", `Code: "en"`, `Code: "fr"`, `Name: "English"`,
			`Name: "Français"`, `EnglishName: "English"`, `EnglishName: "French"`, "Terms: terms,", "Signals: map[string]string{"+named.String()+"}, Terms: terms,",
			"housePages, ", "housePages, problemsPage, "),
		edits: []edit{
			before(list, "\t\"tidemark/internal/locale/hi\"\n", "\t\"tidemark/internal/locale/fr\"\n"),
			before(list, "}\n\n// All returns", "\t&fr.Language,\n"),
		},
	}
	a.added["internal/locale/fr/problems_page.go"] = problemsOfNewLanguage(t)
	return a
}

// problemsOfNewLanguage is the file about the kinds of problems, which has no English twin: their English texts are in api/view.
func problemsOfNewLanguage(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("package fr\n\nvar problemsPage = map[string]string{\n")
	for _, m := range regexp.MustCompile(`"problem\.([a-z0-9_]+)\.(title|meaning|remedy)"`).FindAllStringSubmatch(text(t, filepath.Join(root, "internal/locale/es/problems_page.go")), -1) {
		kind, ok := view.ProblemKindOf(m[1])
		if !ok {
			t.Fatalf("%s is no kind of problem", m[1])
		}
		words := map[string]string{"title": kind.Title, "meaning": kind.Meaning, "remedy": kind.Remedy}[m[2]]
		_, _ = fmt.Fprintf(&out, "\t%q: %q,\n", "problem."+m[1]+"."+m[2], words)
	}
	return out.String() + "}\n"
}

// folder returns copies of a folder's Go files for another folder, with some words replaced.
func folder(t *testing.T, from, to string, words ...string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, from, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(from, " has no files: ", err)
	}
	out := map[string]string{}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			out[filepath.Join(to, filepath.Base(file))] = strings.NewReplacer(words...).Replace(text(t, file))
		}
	}
	return out
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// write makes the addition in a copy of the module.
func (a addition) write(t *testing.T, dir string) {
	t.Helper()
	put := func(file, content string) {
		file = filepath.Join(dir, file)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(a.added)) {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			t.Fatalf("%s: %s is there already", a.task, file)
		}
		put(file, a.added[file])
	}
	for _, e := range a.edits {
		have := text(t, filepath.Join(dir, e.file))
		if n := strings.Count(have, e.old); n != 1 && (!e.each || n == 0) {
			t.Fatalf("%s: %s has %d places %q", a.task, e.file, n, e.old)
		}
		put(e.file, strings.ReplaceAll(have, e.old, e.new))
	}
}

// copied copies the module.
func copied(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, root))
		switch {
		case path == root:
			return nil
		case left.MatchString(d.Name()) && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}
