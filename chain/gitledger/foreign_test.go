package gitledger_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/chain/gitledger"
)

// trap writes a program that creates a marker file in its working directory.
func trap(t *testing.T) (program, mark string) {
	t.Helper()
	dir := t.TempDir()
	program, mark = filepath.Join(dir, "trap"), filepath.Join(dir, "it-ran")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch '"+mark+"'\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, mark
}

// A foreign folder names programs in its configuration. Reading or checking the ledger in it starts none of them.
func TestAForeignFolderRunsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		// set prepares the folder, which is a clone of a good ledger with the branch main.
		set func(t *testing.T, dir, program string)
		// damaged reports whether the ledger cannot be read afterwards.
		damaged bool
	}{
		{"uploadpack of a partial clone", func(t *testing.T, dir, program string) {
			for name, value := range map[string]string{
				"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
				"remote.origin.partialCloneFilter": "blob:none", "remote.origin.url": dir, "remote.origin.uploadpack": program + " git-upload-pack",
			} {
				git(t, dir, "config", name, value)
			}
			lose(t, dir, "HEAD~1:chain/picks.ndjson")
		}, true},
		{"the program for signatures", func(t *testing.T, dir, program string) {
			for _, name := range []string{"gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"} {
				git(t, dir, "config", name, program)
			}
			resign(t, dir)
		}, false},
		{"hooks, filters, monitors and helpers", func(t *testing.T, dir, program string) {
			for name, value := range map[string]string{
				"core.fsmonitor": program, "core.sshCommand": program, "core.gitProxy": program, "core.pager": program, "core.editor": program,
				"credential.helper": "!" + program, "uploadpack.packObjectsHook": program, "core.alternateRefsCommand": program,
				"diff.external": program, "filter.x.smudge": program, "protocol.ext.allow": "always", "core.hooksPath": filepath.Dir(program),
				"remote.origin.url": "ext::" + program, "remote.origin.vcs": "ext", "url.ext::" + program + ".insteadOf": dir,
			} {
				git(t, dir, "config", name, value)
			}
		}, false},
		{"alternates outside", func(t *testing.T, dir, _ string) {
			other := worktree(t)
			if err := os.WriteFile(filepath.Join(dir, ".git", "objects", "info", "alternates"), []byte(filepath.Join(other, ".git", "objects")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			lose(t, dir, "HEAD~1:chain/picks.ndjson")
		}, true},
		{"a pipe in place of an object", func(t *testing.T, dir, _ string) {
			file := lose(t, dir, "HEAD:chain/picks.ndjson")
			if err := syscall.Mkfifo(file, 0o644); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"an object that is a link to elsewhere", func(t *testing.T, dir, _ string) {
			file := lose(t, dir, "HEAD:chain/picks.ndjson")
			if err := os.Symlink("/etc/passwd", file); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"an object with another content than its name says", func(t *testing.T, dir, _ string) {
			from, to := objectFile(t, dir, "HEAD:README.md"), lose(t, dir, "HEAD:chain/picks.ndjson")
			content, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			program, mark := trap(t)
			dir := worktree(t)
			tt.set(t, dir, program)
			_ = os.Remove(mark) // what the preparation did
			r, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir, Environ: os.Environ()})
			if tt.damaged != (err != nil) || err == nil && len(r.Picks) != 3 {
				t.Errorf("it reads as %+v, %v", r, err)
			}
			if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir, AllowedSigners: allow(t, "ssh-ed25519 AAAA"), Environ: os.Environ()}); err == nil {
				t.Error("it was read as signed")
			}
			if n, err := gitledger.Check(t.Context(), filepath.Join(dir, ".git"), os.Environ()); tt.damaged != (err != nil) || err == nil && n != 1 {
				t.Errorf("its check finds %d branches, %v", n, err)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("a program of the folder's choice was run")
			}
		})
	}
}

// A folder is a folder regardless of its name: git must not take a part of it for a host or a helper.
func TestEveryAbsolutePathIsAFolder(t *testing.T) {
	t.Parallel()
	program, mark := trap(t)
	for _, name := range []string{"a@b", "user@host:path", "a:b", "ext::sh -c true", "-u" + filepath.Base(program), "with space", "%41"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Rename(worktree(t), dir); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "config", "core.fsmonitor", program)
		git(t, dir, "config", "gpg.program", program)
		r, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir, Environ: os.Environ()})
		if err != nil || len(r.Picks) != 3 {
			t.Errorf("%q reads as %v, %v", name, r, err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the folder's choice was run")
	}
	for location, want := range map[string]bool{
		"/srv/a@b:c": true, "/srv/ledger": true, "file:///srv/x": true, "./a:b": true, "ledger": true, "git@host:ledger": false, "host:ledger": false,
		"https://host/ledger": false, "ssh://host/ledger": false, "ext::sh": false,
	} {
		if _, ok := gitledger.LocalPath(location); ok != want {
			t.Errorf("%q names a folder: %t", location, ok)
		}
	}
}

func TestABranchIsOnlyAName(t *testing.T) {
	t.Parallel()
	dir := worktree(t)
	for _, branch := range []string{"../../HEAD", "-x", "a b", "main^{commit}", "main:x", "a/../../b", "/main", "a\x1b[2J"} {
		if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir, Branch: branch, Environ: os.Environ()}); err == nil || !strings.Contains(err.Error(), "name of a branch") {
			t.Errorf("%q: %v", branch, err)
		}
	}
}

// objectFile is the file of a loose object.
func objectFile(t *testing.T, dir, name string) string {
	t.Helper()
	id := git(t, dir, "rev-parse", name)
	file := filepath.Join(dir, ".git", "objects", id[:2], id[2:])
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// lose removes an object and returns its path.
func lose(t *testing.T, dir, name string) string {
	t.Helper()
	file := objectFile(t, dir, name)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// resign gives the newest commit an invalid signature of OpenPGP.
func resign(t *testing.T, dir string) {
	t.Helper()
	text := git(t, dir, "cat-file", "commit", "HEAD")
	head, message, _ := strings.Cut(text, "\n\n")
	signed := head + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\n" + message + "\n"
	cmd := exec.CommandContext(t.Context(), "git", "-C", dir, "hash-object", "-t", "commit", "-w", "--stdin")
	cmd.Stdin = strings.NewReader(signed)
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		t.Fatalf("%s", e.Stderr)
	}
	git(t, dir, "update-ref", "refs/heads/main", strings.TrimSpace(string(out)))
}
