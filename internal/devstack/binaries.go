package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// ErrNotInstalled reports that a machine has no binaries of the server, and that none could be downloaded.
var ErrNotInstalled = errors.New("no server binaries on this machine")

// oldestPostgres is the oldest supported major version.
const oldestPostgres = 14

// usualFolders are the folders where Postgres packages install a server that is not in PATH: Debian, Red Hat, a build from source,
// Homebrew, Postgres.app.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// postgresBinaries is one installed Postgres.
type postgresBinaries struct {
	// dir holds postgres and initdb.
	dir string
	// version is the version that the server prints, for example "15.18"; major is 15.
	version string
	major   int
}

// PostgresVersion returns the version of the server that StartPostgres would run on new data, for example "15.18". It is empty if no server is installed.
func PostgresVersion(ctx context.Context) string {
	if chosen, _ := findPostgres(ctx, nil, false, 0); chosen != nil {
		return chosen.version
	}
	return ""
}

// findPostgres returns the installed Postgres to run data of the major version want (zero: no data yet). It prefers an installation of that
// version, and otherwise takes the first usable installation in search order. found lists all inspected installations, for error messages.
func findPostgres(ctx context.Context, binDirs []string, only bool, want int) (chosen *postgresBinaries, found []postgresBinaries) {
	for _, dir := range postgresFolders(binDirs, only) {
		b, err := inspect(ctx, dir)
		if err != nil || slices.ContainsFunc(found, func(f postgresBinaries) bool { return f.dir == b.dir }) {
			continue
		}
		found = append(found, b)
	}
	for i, b := range found {
		switch {
		case b.major == want:
			return &found[i], found
		case b.major >= oldestPostgres && chosen == nil:
			chosen = &found[i]
		}
	}
	return chosen, found
}

// postgresFolders returns the folders that hold both programs, in order of preference: the given folders, PATH, the usual folders with the
// newest version first.
func postgresFolders(binDirs []string, only bool) []string {
	dirs := slices.Clone(binDirs)
	if !only {
		if path, err := exec.LookPath("postgres"); err == nil {
			// Resolve a link into the package's folder to that folder.
			if real, err := filepath.EvalSymlinks(path); err == nil {
				dirs = append(dirs, filepath.Dir(real))
			}
			dirs = append(dirs, filepath.Dir(path))
		}
		for _, pattern := range usualFolders {
			matches, _ := filepath.Glob(pattern)
			slices.SortFunc(matches, func(a, b string) int { return cmp.Compare(firstNumber(b), firstNumber(a)) })
			dirs = append(dirs, matches...)
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return !isProgram(filepath.Join(dir, "postgres")) || !isProgram(filepath.Join(dir, "initdb"))
	})
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)

// Client returns the path of a Postgres client program (pg_dump, pg_restore): the program of the server's major version if installed, else
// the newest. It searches PATH and then the usual folders.
func Client(ctx context.Context, name string, major int) (string, error) {
	var dirs []string
	if path, err := exec.LookPath(name); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, pattern := range usualFolders {
		matches, _ := filepath.Glob(pattern)
		dirs = append(dirs, matches...)
	}
	best, newest := "", 0
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if !isProgram(path) {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		m := versionPattern.FindSubmatch(out)
		if err != nil || m == nil {
			continue
		}
		switch is, _ := strconv.Atoi(string(m[2])); {
		case is == major:
			return path, nil
		case is > newest:
			best, newest = path, is
		}
	}
	if best == "" {
		return "", fmt.Errorf("%s: %w: install the client programs of Postgres %d (Debian: postgresql-client-%d)", name, ErrNotInstalled, major, major)
	}
	return best, nil
}

// inspect runs the server program to read its version.
func inspect(ctx context.Context, dir string) (postgresBinaries, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return postgresBinaries{}, fmt.Errorf("ask %s for its version: %w", dir, err)
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return postgresBinaries{}, fmt.Errorf("ask %s for its version: it says %q", dir, out)
	}
	major, err := strconv.Atoi(string(m[2]))
	if err != nil {
		return postgresBinaries{}, fmt.Errorf("ask %s for its version: %w", dir, err)
	}
	return postgresBinaries{dir: dir, version: string(m[1]), major: major}, nil
}

// findProgram returns the path of a program in the given folders, else in PATH.
func findProgram(name string, binDirs []string, only bool) (string, error) {
	for _, dir := range binDirs {
		if path := filepath.Join(dir, name); isProgram(path) {
			return path, nil
		}
	}
	if !only {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%s: %w", name, ErrNotInstalled)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

var digits = regexp.MustCompile(`\d+`)

// firstNumber returns the first number in the text, zero if it has none.
func firstNumber(text string) int {
	n, _ := strconv.Atoi(digits.FindString(text))
	return n
}
