package gitledger_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/chain/gitledger"
)

// sshKey makes a key with OpenSSH's own tool and returns its file and its public half.
func sshKey(tb testing.TB, kind, passphrase string) (file, public string) {
	tb.Helper()
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		tb.Skipf("needs ssh-keygen: %v", err)
	}
	file = filepath.Join(tb.TempDir(), "key")
	if out, err := exec.CommandContext(tb.Context(), program, "-q", "-t", kind, "-N", passphrase, "-C", "", "-f", file).CombinedOutput(); err != nil {
		tb.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	b, err := os.ReadFile(file + ".pub")
	if err != nil {
		tb.Fatal(err)
	}
	return file, strings.TrimSpace(string(b))
}

func allow(tb testing.TB, public string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "allowed_signers")
	if err := os.WriteFile(file, []byte("* "+public+"\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	return file
}

func TestSignedCommitsVerifyAndAreTheSameForTwoWriters(t *testing.T) {
	t.Parallel()
	key, public := sshKey(t, "ed25519", "")
	entries := picks(t, 3)
	a, b := options(t, ""), options(t, "")
	a.SigningKey, b.SigningKey = key, key
	first := appendAll(t, open(t, a), entries...)
	if diff := cmp.Diff(first, appendAll(t, open(t, b), entries...)); diff != "" {
		t.Errorf("signed commits of two writers differ\n%s", diff)
	}
	for _, signers := range []string{allow(t, public), exported(t, a.Dir)} {
		r, err := gitledger.Read(t.Context(), gitledger.Source{Location: a.Dir, AllowedSigners: signers, Environ: os.Environ()})
		if err != nil || len(r.Picks) != 3 {
			t.Errorf("read with the key's signers: %+v, %v", r, err)
		}
	}
	_, stranger := sshKey(t, "ed25519", "")
	var tampered *gitledger.TamperError
	_, err := gitledger.Read(t.Context(), gitledger.Source{Location: a.Dir, AllowedSigners: allow(t, stranger), Environ: os.Environ()})
	if !errors.As(err, &tampered) || tampered.Commit != first[0].ID {
		t.Errorf("commits signed with another key: %v", err)
	}
	plain := options(t, "")
	appendAll(t, open(t, plain), entries...)
	_, err = gitledger.Read(t.Context(), gitledger.Source{Location: plain.Dir, AllowedSigners: allow(t, public), Environ: os.Environ()})
	if !errors.As(err, &tampered) {
		t.Errorf("unsigned commits: %v", err)
	}
}

// exported writes the ledger's own file of signers to disk.
func exported(tb testing.TB, dir string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "signers")
	if err := os.WriteFile(file, []byte(git(tb, dir, "show", "main:allowed_signers")+"\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	return file
}

func TestANewKeyIsAddedToTheOldOnes(t *testing.T) {
	t.Parallel()
	entries := picks(t, 3)
	o := options(t, "")
	appendAll(t, open(t, o), entries[0]) // signing begins later
	for i := range 2 {
		o.SigningKey, _ = sshKey(t, "ed25519", "")
		appendAll(t, open(t, o), entries[i+1])
	}
	if got := len(strings.Split(git(t, o.Dir, "show", "main:allowed_signers"), "\n")); got != 2 {
		t.Errorf("%d signers are listed, want 2", got)
	}
	verify(t, o.Dir, checkpoint(entries))
}

func TestKeysThatCannotSignTheSameWayTwiceAreRefused(t *testing.T) {
	t.Parallel()
	ecdsa, _ := sshKey(t, "ecdsa", "")
	locked, _ := sshKey(t, "ed25519", "secret")
	public, _ := sshKey(t, "ed25519", "")
	if err := os.Chmod(public, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{
		"an ECDSA key": ecdsa, "a key with a passphrase": locked, "a key that others can read": public, "no file": filepath.Join(t.TempDir(), "none"),
	} {
		o := options(t, "")
		o.SigningKey = key
		if _, err := gitledger.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "key") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
