package gitledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEachConditionOnANameInGitRefusesByItself(t *testing.T) {
	t.Parallel()
	bad := []string{"", "a b", "a\x1fb", "a\x7fb", "-a", "a..b", "/a", "a/", "a//b", "a/./b"}
	for _, c := range `~^:?*[\` {
		bad = append(bad, "a"+string(c)+"b")
	}
	for _, name := range bad {
		if checkBranch(name) == nil {
			t.Errorf("%q is the name of a branch", name)
		}
	}
	for _, name := range []string{"main", "a/b-c.d"} {
		if err := checkBranch(name); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"-u@host:x", "-x", "ext::user@host", "user@host:a\nb", "user@host:a\x00b", "ftp://host/x", "ext://host/x", "folder", "host:x", "user@host"} {
		if checkURL(address) == nil {
			t.Errorf("%q is the address of a repository", address)
		}
	}
}

// foreign is a folder with the given files, each of three bytes.
func foreign(t *testing.T, names ...string) *copier {
	t.Helper()
	from, to := t.TempDir(), t.TempDir()
	for _, name := range names {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return &copier{root: root, to: to, maxBytes: 1000, maxObjects: 1000}
}

func TestOnlyObjectsAndPacksOfAForeignFolderAreCopied(t *testing.T) {
	t.Parallel()
	loose, pack := "objects/ab/"+strings.Repeat("c", 38), "objects/pack/pack-"+strings.Repeat("d", 40)+".pack"
	c := foreign(t, loose, pack, loose+"0", "objects/ab/"+strings.Repeat("c", 37), "objects/ab/x"+strings.Repeat("c", 38), "objects/abc/"+strings.Repeat("c", 38),
		"objects/xab/"+strings.Repeat("c", 38), "objects/AB/"+strings.Repeat("c", 38), "objects/info/alternates", pack+"x", strings.TrimSuffix(pack, "pack")+"idx",
		"objects/pack/x"+filepath.Base(pack), "objects/pack/"+strings.Repeat("c", 38), "config")
	packs, err := c.objects(t.Context())
	if err != nil || !slices.Equal(packs, []string{pack}) {
		t.Errorf("the packs are %q, %v", packs, err)
	}
	var copied []string
	_ = filepath.WalkDir(c.to, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(c.to, path)
			copied = append(copied, name)
		}
		return err
	})
	if !slices.Equal(copied, []string{loose, pack}) {
		t.Errorf("copied: %q", copied)
	}
}

func TestACopyEndsAtEachOfItsLimits(t *testing.T) {
	t.Parallel()
	object := func(folder, digit string) string { return "objects/" + folder + "/" + strings.Repeat(digit, 38) }
	names := []string{object("aa", "1"), object("bb", "2")}
	for name, tt := range map[string]struct {
		bytes   int64
		objects int
		names   []string
		good    bool
	}{
		"as many bytes and objects as are taken": {6, 2, names, true},
		"a byte more":                            {5, 2, names, false},
		"an object more":                         {6, 1, []string{"objects/aa/" + strings.Repeat("1", 38), "objects/aa/" + strings.Repeat("2", 38)}, false},
	} {
		c := foreign(t, tt.names...)
		c.maxBytes, c.maxObjects = tt.bytes, tt.objects
		_, err := c.objects(t.Context())
		if tt.good && err != nil || !tt.good && !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// One object in each folder: no folder has too many.
	c := foreign(t, names...)
	c.maxObjects = 1
	for i, name := range names {
		if err := os.MkdirAll(filepath.Join(c.to, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.copy(name); errors.Is(err, errTooLarge) != (i == 1) {
			t.Errorf("object %d of 1: %v", i+1, err)
		}
	}
	if _, err := c.list("objects"); !errors.Is(err, errTooLarge) {
		t.Errorf("a folder of two, and one is taken: %v", err)
	}
	for most, want := range map[int64]bool{3: false, 2: true} {
		if _, err := c.read(names[0], most); errors.Is(err, errTooLarge) != want {
			t.Errorf("a file of 3 bytes, of at most %d: %v", most, err)
		}
	}
}

// An address whose escapes cannot be read names no folder for this package, but a folder for git, which would open it.
func TestGitOpensNoFolderThatAnAddressNames(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "%zz")
	g, err := newGit(t.Context(), "", os.Environ(), Remote{})
	if err != nil {
		t.Fatal(err)
	}
	g.dir = dir
	if err := g.initBare(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if r, err := Read(t.Context(), Source{Location: "file://" + dir, Environ: os.Environ()}); err == nil || !strings.Contains(err.Error(), "'file' not allowed") {
		t.Errorf("it reads as %+v, %v", r, err)
	}
}
