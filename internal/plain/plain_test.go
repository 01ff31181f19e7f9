package plain

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// jargon are texts of Go, its libraries and the system.
var jargon = regexp.MustCompile(`dial (tcp|error)|i/o timeout|no such (file|host)|connection refused|context (deadline|canceled)|Client\.Timeout|executable file|lookup |SplitHostPort|stat /|open /|Get "`)

func TestErrorsOfTheSystemAreInPlainWords(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	get := func(url string, timeout time.Duration) error {
		ctx, stop := context.WithTimeout(t.Context(), timeout)
		defer stop()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	dial := func(network, address string) error {
		c, err := (&net.Dialer{}).DialContext(t.Context(), network, address)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	listen := func(address string) error {
		_, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		return err
	}
	read := func() error {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", silent.Addr().String())
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		_ = c.SetReadDeadline(time.Now().Add(-time.Second))
		_, err = c.Read(make([]byte, 1))
		return err
	}
	_, missing := os.Stat(file + " is missing")
	_, folder := os.ReadDir(filepath.Join(file, "inside"))
	for name, tt := range map[string]struct {
		err  error
		says string
	}{
		"nothing listens":         {dial("tcp", "127.0.0.1:1"), "nothing listens at 127.0.0.1:1"},
		"nothing listens (v6)":    {errors.New("dial tcp [::1]:1: connect: connection refused"), "nothing listens at [::1]:1"},
		"no socket":               {dial("unix", "/nowhere/x.sock"), "nothing listens at /nowhere/x.sock"},
		"a page of nobody":        {get("http://127.0.0.1:1/a", time.Minute), "http://127.0.0.1:1/a: nothing listens at 127.0.0.1:1"},
		"a silent page":           {get("http://"+silent.Addr().String()+"/a", time.Millisecond), "no answer in time"},
		"a silent server":         {read(), "no answer in time from " + silent.Addr().String()},
		"no such name":            {errors.New("dial tcp: lookup www.eia.gov: no such host"), "no host has the name www.eia.gov"},
		"a broken name server":    {errors.New("dial tcp: lookup www.eia.gov on 10.0.0.1:53: server misbehaving"), "the name server does not say where www.eia.gov is"},
		"a silent name server":    {errors.New("lookup www.eia.gov on 10.0.0.1:53: read udp 10.0.0.2:33->10.0.0.1:53: i/o timeout"), "the name server does not say where www.eia.gov is"},
		"a missing file":          {missing, "a file is missing does not exist"},
		"a file for a folder":     {folder, "is not a folder"},
		"a missing program":       {exec.CommandContext(t.Context(), "no-such-program").Run(), "the program no-such-program is not on this machine (PATH)"},
		"a taken address":         {listen(silent.Addr().String()), "another process listens at " + silent.Addr().String()},
		"a port that is none":     {listen("127.0.0.1:99999"), "99999 is not a port"},
		"a deadline":              {context.DeadlineExceeded, "no answer in time"},
		"a full disk":             {errors.New("write /srv/a: no space left on device"), "no room is left on the disk of /srv/a"},
		"a full disk of Postgres": {errors.New(`ERROR: could not extend file "base/16384/1": No space left on device (SQLSTATE 53100)`), "Postgres: no room is left on the disk"},
		"a full disk of Redis":    {errors.New("MISCONF Errors writing to the AOF file: No space left on device"), "Redis: no room is left on the disk"},
		"a full memory of Redis":  {errors.New("enqueue: OOM command not allowed when used memory > 'maxmemory'."), "enqueue: Redis: its memory is full (maxmemory)"},
		"a replica of Redis":      {errors.New("READONLY You can't write against a read only replica."), "Redis: it is a replica, which accepts no changes"},
		"a closed connection":     {errors.New("write tcp 127.0.0.1:2->10.0.0.1:80: write: broken pipe"), "10.0.0.1:80 closed the connection"},
		"an answer for people":    {errors.New("invalid character '<' looking for beginning of value"), "it is not JSON"},
		"a number that is a word": {errors.New(`strconv.Atoi: parsing "x": invalid syntax`), `"x" is not a number`},
		"Postgres": {
			errors.New("DATABASE_URL: failed to connect to `user=u database=x`:\n\t127.0.0.1:1 (localhost): dial error: dial tcp 127.0.0.1:1: connect: connection refused\n\t127.0.0.1:1 (localhost): dial error: dial tcp 127.0.0.1:1: connect: connection refused"),
			"DATABASE_URL: no connection to Postgres (user u, database x): nothing listens at 127.0.0.1:1",
		},
		"Postgres, one address": {
			errors.New("failed to connect to `user=u database=x`: 127.0.0.1:1 (localhost): server error: FATAL: password authentication failed for user \"u\" (SQLSTATE 28P01)"),
			"no connection to Postgres (user u, database x): FATAL: password authentication failed",
		},
		"Postgres without TLS": {
			errors.New("failed to connect to `user=u database=x`:\n\t127.0.0.1:1 (localhost): tls error: server refused TLS connection\n\t127.0.0.1:1 (localhost): server error: FATAL: too many connections for role \"u\" (SQLSTATE 53300)"),
			"no connection to Postgres (user u, database x): FATAL: too many connections",
		},
		"Postgres that must have TLS": {
			errors.New("failed to connect to `user=u database=x`: 127.0.0.1:1 (localhost): tls error: server refused TLS connection"),
			"no connection to Postgres (user u, database x): server refused TLS connection",
		},
		"a read-only Postgres": {
			errors.New("create the world live: ERROR: cannot execute INSERT in a read-only transaction (SQLSTATE 25006)"),
			"create the world live: ERROR: the server is read-only: a replica, or default_transaction_read_only is on",
		},
		"Postgres of no name": {
			errors.New("failed to connect to `user=u database=x`:\n\thostname resolving error: lookup pg.invalid on 10.0.0.53:53: no such host\n\tlookup pg.invalid on 10.0.0.53:53: no such host"),
			"no connection to Postgres (user u, database x): no host has the name pg.invalid",
		},
		"a silent Postgres": {
			errors.New("failed to connect to `user=u database=x`: 127.0.0.1:5 (127.0.0.1): failed to receive message: timeout: context deadline exceeded"),
			"no connection to Postgres (user u, database x): no answer in time",
		},
		"a URL that is named already": {
			errors.New(`ask http://127.0.0.1:3/a?b=1: Get "http://127.0.0.1:3/a?b=1": dial tcp 127.0.0.1:3: connect: connection refused`),
			"ask http://127.0.0.1:3/a?b=1: nothing listens at 127.0.0.1:3",
		},
	} {
		got := Error(tt.err)
		if !strings.Contains(got, tt.says) || jargon.MatchString(got) || strings.Contains(got, "\n") {
			t.Errorf("%s:\n%v\nis told as %q, want %q", name, tt.err, got, tt.says)
		}
		if again := Text(got); again != got {
			t.Errorf("%s: told again it is %q, and was %q", name, again, got)
		}
	}
}

func TestATextOfOurOwnStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "there is no run 7", "signal crack-spread-321: 3 inputs are missing\nand a second line", "ARCHIVE_URL: the parameter \"regoin\" of a bucket is not known; did you mean region?",
		"open the archive: it is locked", "a: b: a: b", "https://a.example/b: 503 Service Unavailable", "read the answer of https://a.example: it has the member \"x\" twice",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if Error(nil) != "" {
		t.Error("nil is an error")
	}
}
