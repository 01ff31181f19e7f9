package gitledger

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxFile bounds one file of a ledger: some two hundred thousand picks.
const maxFile = 64 << 20

// noCommit is git's value for a reference that must not exist yet.
const noCommit = "0000000000000000000000000000000000000000"

// treeEntry is one row of a tree.
type treeEntry struct{ mode, kind, id string }

func base(p string) string { return path.Base(p) }

// blob stores a file.
func (g git) blob(ctx context.Context, content []byte) (treeEntry, error) {
	out, err := g.run(ctx, content, "hash-object", "-w", "--stdin", "--no-filters")
	if err != nil {
		return treeEntry{}, err
	}
	return treeEntry{mode: "100644", kind: "blob", id: text(out)}, nil
}

// content reads a blob.
func (g git) content(ctx context.Context, id string) ([]byte, error) {
	return g.run(ctx, nil, "cat-file", "blob", id)
}

// tree reads the rows of a tree. A tree that does not exist has none.
func (g git) tree(ctx context.Context, name string) (map[string]treeEntry, error) {
	out, err := g.run(ctx, nil, "ls-tree", "-z", name)
	if err != nil {
		return nil, err
	}
	rows := map[string]treeEntry{}
	for row := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, ok := strings.Cut(row, "\t")
		w := strings.Fields(head)
		if !ok || len(w) != 3 {
			return nil, fmt.Errorf("git ls-tree wrote %q", row)
		}
		rows[name] = treeEntry{mode: w[0], kind: w[1], id: w[2]}
	}
	return rows, nil
}

// writeTree stores a tree.
func (g git) writeTree(ctx context.Context, rows map[string]treeEntry) (treeEntry, error) {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		r := rows[name]
		fmt.Fprintf(&b, "%s %s %s\t%s\x00", r.mode, r.kind, r.id, name)
	}
	out, err := g.run(ctx, b.Bytes(), "mktree", "-z")
	if err != nil {
		return treeEntry{}, err
	}
	return treeEntry{mode: "040000", kind: "tree", id: text(out)}, nil
}

// commitTree stores a commit whose bytes depend on its arguments alone.
func (g git) commitTree(ctx context.Context, tree string, parents []string, message string, by Identity, at time.Time, signed bool) (Commit, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	if signed {
		args = append(args, "-S")
	}
	date := fmt.Sprintf("@%d +0000", at.Unix())
	env := []string{
		"GIT_AUTHOR_NAME=" + by.Name, "GIT_AUTHOR_EMAIL=" + by.Email, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + by.Name, "GIT_COMMITTER_EMAIL=" + by.Email, "GIT_COMMITTER_DATE=" + date,
	}
	out, err := g.start(ctx, g.program, env, []byte(message), args...)
	if err != nil {
		return Commit{}, err
	}
	return Commit{ID: text(out), At: time.Unix(at.Unix(), 0).UTC()}, nil
}

// ref returns the commit that a reference names; empty if the reference does not exist. A reference that exists and names no commit is
// ErrDamaged: treated as missing, it would begin a second history.
func (g git) ref(ctx context.Context, name string) (string, error) {
	out, err := g.run(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err == nil {
		return text(out), nil
	}
	if exitCode(err) < 0 || ctx.Err() != nil {
		return "", err
	}
	if _, statErr := os.Stat(filepath.Join(g.dir, filepath.FromSlash(name))); statErr == nil {
		return "", fmt.Errorf("%w: %s names no commit: %w", ErrDamaged, name, err)
	}
	packed, readErr := os.ReadFile(filepath.Join(g.dir, "packed-refs"))
	if readErr == nil && bytes.Contains(packed, []byte(" "+name+"\n")) {
		return "", fmt.Errorf("%w: %s names no commit: %w", ErrDamaged, name, err)
	}
	return "", nil
}

// moveRef moves a reference from a commit (empty: from nothing) to another, and fails when it is not there any more.
func (g git) moveRef(ctx context.Context, name, from, to string) error {
	if from == "" {
		from = noCommit
	}
	_, err := g.run(ctx, nil, "update-ref", "--no-deref", name, to, from)
	return err
}

// gc packs the objects once there are a few hundred loose ones. It ignores its error: it can succeed after the next commit, and the
// commit itself is complete.
func (g git) gc(ctx context.Context) {
	_, _ = g.run(ctx, nil, "-c", "gc.auto=400", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet")
}

// count counts the commits of head that are not in without. It stops at limit; 0 means no limit.
func (g git) count(ctx context.Context, head, without string, limit int) (int, error) {
	args := []string{"rev-list", "--count", head}
	if limit > 0 {
		args = append(args, "--max-count="+strconv.Itoa(limit))
	}
	if without != "" {
		args = append(args, "^"+without)
	}
	out, err := g.run(ctx, nil, args...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text(out))
}

// contains reports whether commit is head or an ancestor of it.
func (g git) contains(ctx context.Context, head, commit string) (bool, error) {
	_, err := g.run(ctx, nil, "merge-base", "--is-ancestor", commit, head)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// has reports whether a commit is in the repository, with all objects needed to read it.
func (g git) has(ctx context.Context, commit string) (bool, error) {
	_, err := g.run(ctx, nil, "rev-list", "--quiet", "--objects", "--max-count=1", "--end-of-options", commit)
	if err != nil && ctx.Err() == nil && exitCode(err) >= 0 {
		return false, nil
	}
	return err == nil, err
}

// commitsOf lists, oldest first, the commits that changed a file.
func (g git) commitsOf(ctx context.Context, head, path string) ([]Commit, error) {
	out, err := g.run(ctx, nil, "rev-list", "--reverse", "--timestamp", head, "--", path)
	if err != nil {
		return nil, err
	}
	var commits []Commit
	for line := range strings.Lines(string(out)) {
		seconds, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git rev-list wrote %q: %w", line, err)
		}
		commits = append(commits, Commit{ID: id, At: time.Unix(at, 0).UTC()})
	}
	return commits, nil
}

// files reads files of one commit. A file that the commit does not have is not in the map; a file whose object is lost is an error.
func (g git) files(ctx context.Context, commit string, paths []string) (map[string][]byte, error) {
	out, err := g.run(ctx, nil, append([]string{"ls-tree", "-r", "-z", "--format=%(objectname) %(path)", commit, "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var ask strings.Builder
	var names []string
	for row := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		id, name, ok := strings.Cut(row, " ")
		if ok && slices.Contains(paths, name) {
			ask.WriteString(id + "\n")
			names = append(names, name)
		}
	}
	if out, err = g.run(ctx, []byte(ask.String()), "cat-file", "--batch"); err != nil {
		return nil, err
	}
	r := bufio.NewReader(bytes.NewReader(out))
	found := map[string][]byte{}
	for _, name := range names {
		if found[name], err = readObject(r); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return found, nil
}

// readObject reads one answer of git cat-file --batch.
func readObject(r *bufio.Reader) ([]byte, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	w := strings.Fields(head)
	if len(w) != 3 || w[1] != "blob" {
		return nil, fmt.Errorf("it is not a file: %s", strings.TrimSpace(head))
	}
	size, err := strconv.ParseInt(w[2], 10, 64)
	if err != nil {
		return nil, err
	}
	if size < 0 || size > maxFile {
		return nil, fmt.Errorf("a file of %d bytes is too long for a ledger", size)
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, err
	}
	_, err = r.Discard(1)
	return content, err
}

// text returns the output of git without the line end.
func text(out []byte) string { return strings.TrimSpace(string(out)) }
