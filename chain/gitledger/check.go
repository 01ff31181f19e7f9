package gitledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Check returns the number of branches of a repository in a folder. It is ErrDamaged if an object is missing or corrupt that a reference needs. As for
// Read, the repository is untrusted: git is started in a copy of its objects and references, without its configuration. environ is as in
// Options.
func Check(ctx context.Context, folder string, environ []string) (branches int, err error) {
	g, err := newGit(ctx, "", environ, Remote{})
	if err != nil {
		return 0, err
	}
	temp, err := os.MkdirTemp("", "ledger-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	root, err := os.OpenRoot(folder)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	g = g.bounded()
	g.dir = filepath.Join(temp, "ledger.git")
	if err := g.initBare(ctx, "main"); err != nil {
		return 0, err
	}
	c := copier{root: root, to: g.dir, maxBytes: maxForeignBytes, maxObjects: maxForeignObjects}
	if err := errors.Join(c.references(), g.copyObjects(ctx, &c)); err != nil {
		return 0, err
	}
	if out, err := g.run(ctx, nil, "fsck", "--no-dangling", "--no-progress"); err != nil {
		if ctx.Err() != nil || exitCode(err) < 0 {
			return 0, err
		}
		return 0, fmt.Errorf("%w: %w: %s", ErrDamaged, err, g.redact(string(out)))
	}
	out, err := g.run(ctx, nil, "for-each-ref", "refs/heads/")
	return strings.Count(string(out), "\n"), err
}

// references copies all references.
func (c *copier) references() error {
	err := fs.WalkDir(c.root.FS(), "refs", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(c.to, filepath.FromSlash(name)), 0o700)
		case strings.HasSuffix(name, ".lock"):
			return nil
		}
		return c.copy(name)
	})
	if err != nil {
		return err
	}
	if err := c.copy("packed-refs"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
