package gitledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// oldestGit is the first version that knows every setting used here (core.fsync came last).
var oldestGit = [2]int{2, 36}

// git runs the git binary on one repository, isolated from the configuration of the machine and its user.
type git struct {
	program string
	dir     string
	env     []string
	// secrets never appear in an error.
	secrets []string
	// output is the max number of bytes read from a process's output.
	output int
	// memory is the max number of bytes of memory for a process; 0 for no limit.
	memory int64
	// lock is inherited by every process that is started.
	lock *os.File
}

// newGit finds the binary and builds its surroundings.
func newGit(ctx context.Context, dir string, environ []string, remote Remote) (git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return git{}, fmt.Errorf("the ledger needs git %d.%d or later on this machine: %w", oldestGit[0], oldestGit[1], err)
	}
	g := git{program: program, dir: dir, output: maxOutput, secrets: remote.secrets()}
	g.env = append(allowed(environ),
		"LC_ALL=C",
		"HOME="+os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
	)
	settings := []string{
		"core.hooksPath", os.DevNull,
		"core.fsync", "all",
		"core.fsyncMethod", "fsync",
		"core.bigFileThreshold", strconv.Itoa(maxFile),
		"core.logAllRefUpdates", "false",
		"credential.helper", "",
		"fetch.fsckObjects", "true",
		"gc.auto", "0",
		"gpg.format", "ssh",
		// Signatures of other kinds are not ours, and start no program.
		"gpg.program", os.DevNull,
		"gpg.openpgp.program", os.DevNull,
		"gpg.x509.program", os.DevNull,
		"gpg.ssh.program", "ssh-keygen",
		"http.followRedirects", "initial",
		"http.lowSpeedLimit", "1",
		"http.lowSpeedTime", "30",
		"maintenance.auto", "false",
	}
	if dir != "" {
		settings = append(settings, "safe.directory", dir) // of another user, where a volume says so
	}
	g.env = append(g.env, asEnv(append(settings, remote.settings()...))...)
	out, err := g.run(ctx, nil, "version")
	if err != nil {
		return git{}, err
	}
	if !recent(string(out)) {
		return git{}, fmt.Errorf("the ledger needs git %d.%d or later, this is %s", oldestGit[0], oldestGit[1], strings.TrimSpace(string(out)))
	}
	return g, nil
}

// allowed keeps what a network and a temporary file need from a process's environment.
func allowed(environ []string) []string {
	keep := []string{"PATH", "TMPDIR", "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"}
	var out []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case slices.Contains(keep, name):
			out = append(out, e)
		case name == "SSL_CERT_FILE":
			out = append(out, "GIT_SSL_CAINFO="+value)
		case name == "SSL_CERT_DIR":
			out = append(out, "GIT_SSL_CAPATH="+value)
		}
	}
	return out
}

// asEnv hands settings (name, value, name, value, ...) to git through the environment, where other users do not see them.
func asEnv(settings []string) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings)/2)}
	for i := 0; i < len(settings); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+settings[i], "GIT_CONFIG_VALUE_"+n+"="+settings[i+1])
	}
	return env
}

// recent reads "git version 2.39.5".
func recent(version string) bool {
	w := strings.Fields(version)
	if len(w) < 3 {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(w[2], "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > oldestGit[0] || major == oldestGit[0] && minor >= oldestGit[1]
}

// set adds one setting.
func (g *git) set(name, value string) {
	g.env = slices.Clone(g.env)
	for i, e := range g.env {
		if n, ok := strings.CutPrefix(e, "GIT_CONFIG_COUNT="); ok {
			count, _ := strconv.Atoi(n)
			g.env[i] = "GIT_CONFIG_COUNT=" + strconv.Itoa(count+1)
			g.env = append(g.env, "GIT_CONFIG_KEY_"+n+"="+name, "GIT_CONFIG_VALUE_"+n+"="+value)
			return
		}
	}
}

// gitError is a git that ended badly.
type gitError struct {
	what   string
	code   int
	stderr string
	cause  error
}

func (e *gitError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", e.what, e.cause)
	}
	return fmt.Sprintf("git %s: %s", e.what, e.stderr)
}

func (e *gitError) Unwrap() error { return e.cause }

// exitCode returns the code that a git ended with, -1 for an error of another kind.
func exitCode(err error) int {
	if e, ok := errors.AsType[*gitError](err); ok {
		return e.code
	}
	return -1
}

// run runs one git and returns what it wrote.
func (g git) run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return g.start(ctx, g.program, nil, stdin, args...)
}

func (g git) start(ctx context.Context, program string, extraEnv []string, stdin []byte, args ...string) ([]byte, error) {
	stdout, stderr := &limited{max: g.output}, &limited{max: maxComplaint}
	cmd := g.command(ctx, program, extraEnv, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), stdout, stderr
	err := cmd.Run()
	if err == nil && stdout.cut {
		err = fmt.Errorf("it wrote more than %d bytes", g.output)
	}
	if err == nil {
		return stdout.kept.Bytes(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return stdout.kept.Bytes(), &gitError{what: args[0], code: cmd.ProcessState.ExitCode(), stderr: g.redact(stderr.kept.String()), cause: err}
}

// Max sizes of the kept output and error output of a git.
const (
	maxOutput    = 256 << 20
	maxComplaint = 64 << 10
)

// limited keeps the beginning of the data written to it.
type limited struct {
	max  int
	kept bytes.Buffer
	cut  bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	room := max(l.max-l.kept.Len(), 0)
	l.cut = l.cut || room < len(p)
	l.kept.Write(p[:min(len(p), room)])
	return len(p), nil
}

// command prepares a process. A canceled ctx asks it to end, so that a git takes its locks away, and kills it ten seconds later.
func (g git) command(ctx context.Context, program string, extraEnv []string, args ...string) *exec.Cmd {
	if g.memory > 0 {
		// The shell becomes the program. Some systems know no such limit.
		bound := []string{"-c", `ulimit -v "$0" 2>/dev/null; exec "$@"`, strconv.FormatInt(g.memory>>10, 10), program}
		program, args = "/bin/sh", append(bound, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(slices.Clone(g.env), extraEnv...)
	if g.dir != "" && exists(g.dir) {
		cmd.Dir = g.dir
		cmd.Env = append(cmd.Env, "GIT_DIR="+g.dir)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if g.lock != nil {
		cmd.ExtraFiles = []*os.File{g.lock}
	}
	return cmd
}

// redact turns git's error output into one readable line without secrets.
func (g git) redact(s string) string {
	for _, secret := range g.secrets {
		s = strings.ReplaceAll(s, secret, "REDACTED")
	}
	var said []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "hint:") {
			said = append(said, line)
		}
	}
	text := strings.Join(said, "; ")
	return text[:min(len(text), 2000)]
}

// publicKey returns the public half of an OpenSSH private key, and refuses a key that would make commits differ between writers.
func (g git) publicKey(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("the signing key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("the signing key %s can be read by others (mode %#o): make it 0600", path, info.Mode().Perm())
	}
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return "", fmt.Errorf("signing needs OpenSSH's ssh-keygen on this machine: %w", err)
	}
	out, err := g.start(ctx, program, nil, nil, "-y", "-P", "", "-f", path)
	if err != nil {
		return "", fmt.Errorf("read the signing key %s (it must be an OpenSSH key without a passphrase): %w", path, err)
	}
	w := strings.Fields(string(out))
	if len(w) < 2 || w[0] != "ssh-ed25519" {
		return "", fmt.Errorf("the signing key %s is not an Ed25519 key: other signatures differ each time, and so would the commits of two writers", path)
	}
	return w[0] + " " + w[1], nil
}

// ensure makes the repository if it does not exist, and removes the locks of a killed git. The caller holds the folder's lock, so no git
// is running here.
func (g git) ensure(ctx context.Context, branch string) error {
	if _, err := os.Stat(filepath.Join(g.dir, "HEAD")); err == nil {
		return g.unlock()
	}
	// Made under another name and renamed when it is whole.
	half := g.dir + ".new"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	n := g
	n.dir = half
	if _, err := n.run(ctx, nil, "init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--initial-branch="+branch, half); err != nil {
		return err
	}
	if err := os.Remove(g.dir); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%w: the folder %s is neither empty nor a git repository", ErrDamaged, g.dir)
	}
	return os.Rename(half, g.dir)
}

// unlock removes the lock files that git leaves when it is killed between taking and releasing one.
func (g git) unlock() error {
	var stale []string
	for _, pattern := range []string{"*.lock", "objects/*.lock", "objects/info/*.lock", "objects/info/*/*.lock", "gc.pid"} {
		found, err := filepath.Glob(filepath.Join(g.dir, pattern))
		if err != nil {
			return err
		}
		stale = append(stale, found...)
	}
	err := filepath.WalkDir(filepath.Join(g.dir, "refs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") {
			stale = append(stale, path)
		}
		return err
	})
	for _, path := range stale {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
