package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tidemark/chain/gitledger"
	"tidemark/internal/postgres"
)

// tool runs a Postgres client program on the installation's database.
func (in Installation) tool(ctx context.Context, major int, name string, args ...string) error {
	cmd, address, err := in.command(ctx, major, name, args...)
	if err != nil {
		return err
	}
	cmd.Args = append(cmd.Args, "--dbname="+address)
	return in.run(cmd, name)
}

// command prepares a Postgres client program, and returns the address of the database for its arguments. The password is in the environment,
// because every user of the machine can read command lines.
func (in Installation) command(ctx context.Context, major int, name string, args ...string) (cmd *exec.Cmd, address string, err error) {
	path, err := in.Tool(ctx, name, major)
	if err != nil {
		return nil, "", err
	}
	address, password := in.URL, ""
	if u, err := url.Parse(in.URL); err == nil && u.User != nil {
		password, _ = u.User.Password()
		u.User = url.User(u.User.Username())
		address = u.String()
	}
	cmd = exec.CommandContext(ctx, path, args...)
	cmd.Env = cmd.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	if major >= 14 { // the server notices a killed program also during a long statement
		options := ""
		for _, e := range cmd.Env {
			if value, ok := strings.CutPrefix(e, "PGOPTIONS="); ok {
				options = value
			}
		}
		cmd.Env = append(cmd.Env, "PGOPTIONS="+strings.TrimSpace(options+" -c client_connection_check_interval=1s"))
	}
	return cmd, address, nil
}

// run runs a prepared program.
func (in Installation) run(cmd *exec.Cmd, name string) error {
	out, err := in.Output(cmd)
	if err != nil {
		return fmt.Errorf("%s (%s) says: %s: %w", name, cmd.Path, complaint(name, string(out)), err)
	}
	return nil
}

// fill fills the database from a dump, between a first and a last statement, all in one transaction. pg_restore writes the statements, and psql sends them. The
// commit is sent after all of them: a program that is killed before, or fails, leaves the database empty.
func (in Installation) fill(ctx context.Context, major int, dump, first, last string) error {
	from, _, err := in.command(ctx, major, "pg_restore", "--no-owner", "--exit-on-error", "--file=-", dump)
	if err != nil {
		return err
	}
	to, address, err := in.command(ctx, major, "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output="+os.DevNull)
	if err != nil {
		return err
	}
	to.Args, to.Env = append(to.Args, "--dbname="+address), append(to.Env, "PGAPPNAME="+postgres.RestoreName)
	statements, script := io.Pipe()
	to.Stdin, from.Stdout = statements, script
	sent := make(chan error, 1)
	go func() {
		err := in.run(to, "psql")
		_ = statements.CloseWithError(errors.New("psql has ended")) // pg_restore must not wait for it
		sent <- err
	}()
	_, err = io.WriteString(script, "begin;\n"+first+";\n")
	if err == nil {
		err = in.run(from, "pg_restore")
	}
	if err == nil {
		_, err = io.WriteString(script, "\n"+last+";\ncommit;\n")
	}
	_ = script.CloseWithError(err) // without the commit, psql ends and the server rolls back
	if refused := <-sent; refused != nil && (err == nil || !errors.Is(refused, err)) {
		return refused
	}
	return err
}

// maxComplaint is the max length of the shown part of a program's error, in characters.
const maxComplaint = 300

// complaint returns the first error in the output of a Postgres client program, without the statement that caused it, and what to do about it
// if that is known.
func complaint(name, out string) string {
	said := strings.TrimSpace(out)
	for line := range strings.Lines(out) {
		if _, fault, ok := strings.Cut(line, name+": error: "); ok {
			said = strings.TrimSpace(fault)
			break
		}
	}
	if _, fault, ok := strings.Cut(said, "ERROR:"); ok { // in front of it stands which kind of statement it was
		said = strings.TrimSpace(fault)
	}
	said, _, _ = strings.Cut(said, "\n")
	if text := []rune(said); len(text) > maxComplaint {
		said = string(text[:maxComplaint]) + "..."
	}
	if strings.Contains(said, "permission denied") {
		said += " (DATABASE_URL must be the login of the database's owner, that of `tidemark migrate`)"
	}
	return said
}

// write writes a file and syncs it to disk.
func write(path string, content []byte) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

// settle syncs a file, or the names in a folder, to disk.
func settle(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

const (
	// lockTimeout is how long a backup waits for the ledger's lock. A run that writes to the ledger ends after 10 minutes.
	lockTimeout = 15 * time.Minute
	// packTimeout is how long a backup can hold the lock. A commit waits meanwhile.
	packTimeout = time.Minute
)

// pack writes a bare git repository to a tar file. It holds the ledger's lock, because a commit may collect garbage: git then moves objects
// from file to file. Remains of a killed git are left out.
func pack(ctx context.Context, repository, file string) (err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := tar.NewWriter(f)
	wait, stop := context.WithTimeout(ctx, lockTimeout)
	defer stop()
	err = gitledger.Hold(wait, repository, func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, packTimeout, fmt.Errorf("it was not copied within %s", packTimeout))
		defer cancel()
		return filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
			name, rerr := filepath.Rel(repository, path)
			switch err := errors.Join(err, rerr, context.Cause(ctx)); {
			case err != nil:
				return err
			case !d.Type().IsRegular() && !d.IsDir(), strings.HasSuffix(name, ".lock"), strings.HasPrefix(d.Name(), "tmp_"):
				return nil
			}
			return add(w, path, filepath.ToSlash(name), d.IsDir())
		})
	})
	if err := errors.Join(err, w.Close(), f.Sync()); err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	return nil
}

func add(w *tar.Writer, path, name string, folder bool) error {
	if folder {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// checkLedger checks a packed repository, and returns the number of its branches.
func checkLedger(ctx context.Context, file string, environ []string) (branches int, err error) {
	temp, err := os.MkdirTemp("", "backup-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	repository := filepath.Join(temp, "ledger.git")
	if err := unpack(file, repository); err != nil {
		return 0, err
	}
	return gitledger.Check(ctx, repository, environ)
}

// unpack restores the repository, completely or not at all.
func unpack(file, repository string) (err error) {
	if err := os.MkdirAll(filepath.Dir(repository), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(repository), filepath.Base(repository)+partial)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(work)
		}
	}()
	root, err := os.OpenRoot(work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(h.Name, "/")
		if h.Typeflag == tar.TypeDir {
			if name != "." {
				err = root.MkdirAll(name, 0o755)
			}
		} else {
			err = extract(root, name, r)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Chmod(work, 0o755); err != nil { //nolint:gosec // the ledger is public, and several users may run workers
		return err
	}
	return os.Rename(work, repository)
}

func extract(root *os.Root, name string, r io.Reader) (err error) {
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	return f.Sync()
}
