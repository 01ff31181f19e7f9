package gitledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// git never opens another owner's repository in place, because its configuration names programs that git would start. The objects of a
// folder are copied without the configuration, and fetched from the copy; a repository at an address is fetched. The program then reads
// its own new repository, whose objects git has hashed again.

// Limits of a foreign ledger. Each is far above a ledger with a pick every trading day for a hundred years.
const (
	maxForeignBytes   = 1 << 30
	maxForeignObjects = 500_000
	maxForeignCommits = 50_000
	maxForeignTime    = 15 * time.Minute
	maxForeignMemory  = 2 << 30
	maxRefs           = 16 << 20
)

var errTooLarge = errors.New("it is larger than any ledger")

// LocalPath returns the folder that a location names, and whether the location names a folder. A folder is a file URL, any absolute path,
// or a relative path. An address on another machine has a scheme, or is user@host:path without a slash before the colon.
func LocalPath(location string) (folder string, ok bool) {
	if rest, found := strings.CutPrefix(location, "file://"); found {
		folder, err := url.PathUnescape(rest)
		return folder, err == nil
	}
	if filepath.IsAbs(location) {
		return location, true
	}
	before, _, colon := strings.Cut(location, ":")
	return location, !strings.Contains(location, "://") && (!colon || strings.Contains(before, "/"))
}

// checkBranch refuses what is not the plain name of a branch: it becomes part of paths and of git's arguments.
func checkBranch(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) || strings.ContainsAny(name, `~^:?*[\`) ||
		strings.HasPrefix(name, "-") || strings.Contains(name, "..") || path.Clean("/"+name) != "/"+name {
		return fmt.Errorf("%q is not a name of a branch", name)
	}
	return nil
}

// importForeign fetches the branch of a foreign repository into a new repository below temp. It returns git on the new one. fault is the
// kind of error for a repository that does not serve its objects.
func (g git) importForeign(ctx context.Context, src Source, temp string) (read git, err error) {
	g = g.bounded()
	read = g
	read.dir = filepath.Join(temp, "ledger.git")
	if err := read.initBare(ctx, src.Branch); err != nil {
		return read, err
	}
	from, fault := src.Location, ErrPending
	if folder, ok := LocalPath(src.Location); ok {
		from, fault = filepath.Join(temp, "copy.git"), ErrDamaged
		local := g
		local.dir = from
		if found, err := local.copyFolder(ctx, folder, src.Branch); err != nil || !found {
			return read, err
		}
		read = read.only("file")
	} else {
		read = read.only("git:http:https:ssh")
	}
	ref := "refs/heads/" + src.Branch
	out, err := read.run(ctx, nil, "ls-remote", "--refs", "--", from, ref)
	if err != nil {
		return read, fmt.Errorf("%w: %w", fault, err)
	}
	if len(out) == 0 {
		return read, nil
	}
	ctx, stop := stopWhenTooLarge(ctx, read.dir)
	defer stop()
	_, err = read.run(ctx, nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--", from, "+"+ref+":"+ref)
	if cause := context.Cause(ctx); cause != nil {
		return read, cause
	}
	if err != nil {
		return read, fmt.Errorf("%w: %w", fault, err)
	}
	return read, nil
}

// bounded lets git have some memory and no more: a pack of some kilobytes can name an object of any size, which git makes in memory.
func (g git) bounded() git {
	g.memory = maxForeignMemory
	for _, s := range [][2]string{
		{"pack.threads", "1"}, {"core.packedGitWindowSize", "16m"}, {"core.packedGitLimit", "256m"}, {"core.deltaBaseCacheLimit", "64m"},
	} {
		g.set(s[0], s[1])
	}
	return g
}

// only lets git use some protocols and no others.
func (g git) only(protocols string) git {
	env := make([]string, 0, len(g.env))
	for _, e := range g.env {
		if !strings.HasPrefix(e, "GIT_ALLOW_PROTOCOL=") {
			env = append(env, e)
		}
	}
	g.env = append(env, "GIT_ALLOW_PROTOCOL="+protocols)
	return g
}

// stopWhenTooLarge ends the returned context when a folder exceeds the max size of a ledger: git has no limit for fetched data.
func stopWhenTooLarge(ctx context.Context, dir string) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
			}
			var size int64
			_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					if info, err := d.Info(); err == nil {
						size += info.Size()
					}
				}
				return nil // git moves its files meanwhile
			})
			if size > maxForeignBytes {
				cancel(fmt.Errorf("%w: more than %d bytes", errTooLarge, maxForeignBytes))
				return
			}
		}
	}()
	return watched, func() { cancel(nil); <-done }
}

// copyFolder makes the repository g.dir of the objects and the branch of a foreign folder, bare or not. It takes nothing else: no
// configuration, no hooks, no alternates. found is false where the branch does not exist.
func (g git) copyFolder(ctx context.Context, folder, branch string) (found bool, err error) {
	if inner := filepath.Join(folder, ".git"); exists(inner) {
		folder = inner
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Stat("HEAD"); err != nil {
		return false, fmt.Errorf("%s is not a git repository: %w", folder, err)
	}
	c := copier{root: root, to: g.dir, maxBytes: maxForeignBytes, maxObjects: maxForeignObjects}
	head, err := c.branch(branch)
	if err != nil || head == "" {
		return false, err
	}
	if err := g.initBare(ctx, branch); err != nil {
		return false, err
	}
	if err := g.copyObjects(ctx, &c); err != nil {
		return false, err
	}
	ref := filepath.Join(g.dir, "refs", "heads", filepath.FromSlash(branch))
	if err := os.MkdirAll(filepath.Dir(ref), 0o700); err != nil {
		return false, err
	}
	return true, os.WriteFile(ref, []byte(head+"\n"), 0o600)
}

// copyObjects copies the objects of a foreign folder into the repository g.dir.
func (g git) copyObjects(ctx context.Context, c *copier) error {
	packs, err := c.objects(ctx)
	if err != nil {
		return err
	}
	for _, pack := range packs {
		// The foreign index is not believed.
		if _, err := g.run(ctx, nil, "index-pack", filepath.Join(g.dir, pack)); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return nil
}

// initBare makes an empty repository.
func (g git) initBare(ctx context.Context, branch string) error {
	n := g
	n.dir = ""
	_, err := n.run(ctx, nil, "init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--initial-branch="+branch, g.dir)
	return err
}

// copier copies the objects of a folder. The root keeps symbolic links from leading out of it.
type copier struct {
	root *os.Root
	to   string
	// maxBytes and maxObjects bound what is copied.
	maxBytes   int64
	maxObjects int
	// bytes and files count the copied data.
	bytes int64
	files int
}

var (
	objectName = regexp.MustCompile(`^[0-9a-f]{40}$`)
	folderName = regexp.MustCompile(`^[0-9a-f]{2}$`)
	looseName  = regexp.MustCompile(`^[0-9a-f]{38}$`)
	packName   = regexp.MustCompile(`^pack-[0-9a-f]{40}\.pack$`)
)

// branch returns the commit of a branch; empty if it does not exist.
func (c *copier) branch(name string) (string, error) {
	ref := "refs/heads/" + name
	text, err := c.read(ref, 1<<10)
	switch {
	case err == nil:
		if id := strings.TrimSpace(string(text)); objectName.MatchString(id) {
			return id, nil
		}
		return "", fmt.Errorf("%w: %s names no commit", ErrDamaged, ref)
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	packed, err := c.read("packed-refs", maxRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(packed) {
		id, of, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if of != ref {
			continue
		}
		if !objectName.MatchString(id) {
			return "", fmt.Errorf("%w: %s names no commit", ErrDamaged, ref)
		}
		return id, nil
	}
	return "", nil
}

// objects copies the loose objects and the packs, and returns the names of the packs below the new repository.
func (c *copier) objects(ctx context.Context) (packs []string, err error) {
	folders, err := c.list("objects")
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		from := "objects/" + folder
		wanted := looseName
		switch {
		case folder == "pack":
			wanted = packName
		case !folderName.MatchString(folder):
			continue
		}
		names, err := c.list(from)
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Join(c.to, from), 0o700); err != nil {
			return nil, err
		}
		for _, name := range names {
			if !wanted.MatchString(name) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := c.copy(from + "/" + name); err != nil {
				return nil, err
			}
			if folder == "pack" {
				packs = append(packs, from+"/"+name)
			}
		}
	}
	return packs, nil
}

// list returns the names in a folder.
func (c *copier) list(folder string) ([]string, error) {
	f, err := c.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return nil, err
	}
	names, err := f.Readdirnames(c.maxObjects + 1)
	if len(names) > c.maxObjects {
		return nil, fmt.Errorf("%w: more than %d objects", errTooLarge, c.maxObjects)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// open opens a regular file. It does not block on other kinds of files.
func (c *copier) open(name string) (*os.File, error) {
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is not a file", ErrDamaged, name)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (c *copier) read(name string, maxBytes int64) ([]byte, error) {
	f, err := c.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if int64(len(text)) > maxBytes {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", errTooLarge, name, maxBytes)
	}
	return text, err
}

func (c *copier) copy(name string) (err error) {
	from, err := c.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(filepath.Join(c.to, filepath.FromSlash(name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	n, err := io.Copy(to, io.LimitReader(from, c.maxBytes-c.bytes+1))
	c.bytes += n
	if c.files++; c.bytes > c.maxBytes || c.files > c.maxObjects {
		return fmt.Errorf("%w: more than %d bytes or %d objects", errTooLarge, c.maxBytes, c.maxObjects)
	}
	return err
}
