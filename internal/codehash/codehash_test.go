package codehash

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tidemark"
)

const goMod = `module example

go 1.26.8

require (
	gonum.org/v1/gonum v0.17.0
	example.org/unused v1.0.0
)
`

func code() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"method/score.go":      file("package method\n\nimport (\n\t\"math\"\n\n\t\"example/rules\"\n\t\"gonum.org/v1/gonum/stat\"\n)\n\nvar weight = 0.3\n"),
		"method/score_test.go": file("package method\n"),
		"rules/rules.go":       file("package rules\n\nimport \"example/days\"\n\nconst repeat = 60\n"),
		"days/days.go":         file("package days\n\nvar holidays = 9\n"),
		"other/other.go":       file("package other\n"),
	}
}

func TestAVersionIsThatOfAllCodeThatAMethodIsMadeOf(t *testing.T) {
	t.Parallel()
	version := func(files fstest.MapFS, module string) string {
		t.Helper()
		v, err := hash(files, module, "method")
		if err != nil || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(v) {
			t.Fatal(v, err)
		}
		return v
	}
	plain := version(code(), goMod)
	changed := func(file, from, to string) fstest.MapFS {
		files := maps.Clone(code())
		text := strings.Replace(string(files[file].Data), from, to, 1)
		if text == string(files[file].Data) {
			t.Fatalf("%s has no %s", file, from)
		}
		files[file] = &fstest.MapFile{Data: []byte(text)}
		return files
	}
	for what, v := range map[string]string{
		"a weight":                            version(changed("method/score.go", "0.3", "0.4"), goMod),
		"a rule of a package that it imports": version(changed("rules/rules.go", "60", "61"), goMod),
		"a holiday that is imported by that":  version(changed("days/days.go", "9", "10"), goMod),
		"the library of statistics":           version(code(), strings.Replace(goMod, "v0.17.0", "v0.18.0", 1)),
		"the version of Go":                   version(code(), strings.Replace(goMod, "1.26.8", "1.27.0", 1)),
		"another package that it imports now": version(changed("rules/rules.go", "\"example/days\"", "(\n\"example/days\"\n\"example/other\"\n)"), goMod),
	} {
		if v == plain {
			t.Errorf("%s changes no version", what)
		}
	}
	for what, v := range map[string]string{
		"a comment":                      version(changed("days/days.go", "var", "// Bank holidays too.\nvar"), goMod),
		"a test":                         version(changed("method/score_test.go", "package", "// a\npackage"), goMod),
		"a package that it does not use": version(changed("other/other.go", "other\n", "other\nvar x = 1\n"), goMod),
		"a module that it does not use":  version(code(), strings.Replace(goMod, "unused v1.0.0", "unused v1.1.0", 1)),
	} {
		if v != plain {
			t.Errorf("%s changes the version", what)
		}
	}
	files := code()
	delete(files, "days/days.go")
	if _, err := hash(files, goMod, "method"); err == nil || !strings.Contains(err.Error(), "days") {
		t.Errorf("code that is missing has a version: %v", err)
	}
}

// The version of a method covers the packages that the go command lists for it.
func TestTheProgramCarriesTheCodeOfEachMethod(t *testing.T) {
	t.Parallel()
	if text, err := os.ReadFile("../../go.mod"); err != nil || string(text) != tidemark.Module {
		t.Errorf("the program carries another go.mod: %v", err)
	}
	for _, folder := range []string{"picks", "picks/backtest", "signals", "signals/forecast"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+folder)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		c := closure{files: tidemark.Methods, module: readModule(tidemark.Module), code: map[string][]string{}, others: map[string]bool{}}
		if err := c.add(folder); err != nil {
			t.Fatal(err)
		}
		var want []string
		for name := range strings.FieldsSeq(string(out)) {
			if own, ok := strings.CutPrefix(name, "tidemark/"); ok {
				want = append(want, own)
			}
		}
		slices.Sort(want)
		slices.Sort(c.seen)
		if !slices.Equal(c.seen, want) {
			t.Errorf("the version of %s covers\n%v, and is made of\n%v", folder, c.seen, want)
		}
		if !c.others["gonum.org/v1/gonum v0.17.0"] && folder != "picks" {
			t.Errorf("%s: of other modules: %v", folder, c.others)
		}
	}
}
