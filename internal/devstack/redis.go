package devstack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RedisOptions describe one private Redis. Only Dir is required.
type RedisOptions struct {
	// Dir is the folder for all files of the server, as in PostgresOptions. Another start on it finds its content again if AppendOnly was
	// set.
	Dir string
	// Port is the port to listen on. Zero means the last port, else a free one.
	Port int
	// AppendOnly keeps the content on disk. A stop loses nothing. Kill loses at most the last two seconds, because Redis delays a write
	// while an earlier one is being synced. Without AppendOnly, any restart loses everything.
	AppendOnly bool
	// BinDirs, OnlyBinDirs: as in Options.
	BinDirs     []string
	OnlyBinDirs bool
	// Log receives one line when the server is started. It may be nil.
	Log *slog.Logger
	// Password replaces the stored password. Empty keeps it, or makes a random one.
	Password string
	// More returns further lines of the configuration, at each start. It may be nil.
	More func(ctx context.Context, port int, password string) []string
	// Sentinel runs the program as a Sentinel. It stores its configuration (More, in all) in a file that it rewrites itself.
	Sentinel bool

	died chan error
	// mayMove allows a link to another folder if the server's user cannot enter Dir.
	mayMove bool
}

// StartRedis runs a redis-server on o.Dir and returns once it answers. It listens on 127.0.0.1, with a random password that is stored in
// the folder. A server that an earlier process left on the folder is stopped first. ctx limits only the start. Nothing is left running
// after an error. On a machine without redis-server, the error is ErrNotInstalled.
func StartRedis(ctx context.Context, o RedisOptions) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.died == nil {
		o.died = make(chan error, 1)
	}
	program, err := findProgram("redis-server", o.BinDirs, o.OnlyBinDirs)
	if err != nil {
		return nil, err
	}
	h, err := openHome(ctx, o.Dir, o.mayMove, o.Log)
	if err != nil {
		return nil, err
	}
	if o.Password != "" && h.keep.Password != o.Password {
		h.keep.Password = o.Password
		if err := h.save(); err != nil {
			h.unlock()
			return nil, unusable(h.dir, err)
		}
	}
	s, err := o.start(ctx, h, program)
	if err != nil {
		h.unlock()
		return nil, err
	}
	return s, nil
}

func (o RedisOptions) start(ctx context.Context, h *stateDir, program string) (*Server, error) {
	if err := os.Mkdir(h.data(), 0o700); err != nil && !os.IsExist(err) {
		return nil, unusable(h.dir, err)
	}
	if err := h.give(h.data()); err != nil {
		return nil, unusable(h.dir, err)
	}
	s := &Server{home: h, log: o.Log, died: o.died, kind: kind{
		name:    "Redis",
		program: "redis-server",
		path:    program,
		version: redisVersion(ctx, program),
		stop:    syscall.SIGTERM,
		command: func(ctx context.Context, port int) *exec.Cmd {
			if o.Sentinel {
				return o.sentinelCommand(ctx, h, program, port)
			}
			// The configuration is passed on standard input: every user could read the password in the arguments.
			cmd := exec.CommandContext(ctx, program, "-")
			cmd.Stdin = strings.NewReader(o.configuration(ctx, h, port))
			return cmd
		},
		answer: func(ctx context.Context, port int) error { return pingRedis(ctx, port, h.keep.Password) },
		url:    func(port int) string { return redisURL(port, h.keep.Password) },
	}}
	if err := s.start(ctx, o.Port); err != nil {
		return nil, err
	}
	return s, nil
}

func (o RedisOptions) configuration(ctx context.Context, h *stateDir, port int) string {
	appendOnly := "no"
	if o.AppendOnly {
		appendOnly = "yes"
	}
	lines := []string{
		"bind 127.0.0.1",
		fmt.Sprintf("port %d", port),
		"requirepass " + h.keep.Password,
		fmt.Sprintf("dir %q", h.data()),
		fmt.Sprintf("pidfile %q", h.data()+"/redis.pid"),
		"appendonly " + appendOnly,
		"appendfsync everysec",
		`save ""`,
		// A queue that silently drops entries is worse than a queue that refuses them.
		"maxmemory-policy noeviction",
		"daemonize no",
	}
	if o.More != nil {
		lines = append(lines, o.More(ctx, port, h.keep.Password)...)
	}
	return strings.Join(append(lines, ""), "\n")
}

// sentinelCommand runs a Sentinel on its configuration file, which is written for the first start on a port.
func (o RedisOptions) sentinelCommand(ctx context.Context, h *stateDir, program string, port int) *exec.Cmd {
	path := filepath.Join(h.data(), "sentinel.conf")
	first := fmt.Sprintf("port %d\n", port)
	if content, err := os.ReadFile(path); err != nil || !strings.Contains("\n"+string(content), "\n"+first) {
		lines := append([]string{
			first + "bind 127.0.0.1", fmt.Sprintf("dir %q", h.data()), "requirepass " + h.keep.Password, "daemonize no",
		}, o.More(ctx, port, h.keep.Password)...)
		// If writing fails, the server cannot read the file and reports it.
		_ = os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
		_ = h.give(path)
	}
	return exec.CommandContext(ctx, program, path, "--sentinel")
}

var redisVersionPattern = regexp.MustCompile(`v=(\S+)`)

func redisVersion(ctx context.Context, program string) string {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if m := redisVersionPattern.FindSubmatch(out); err == nil && m != nil {
		return string(m[1])
	}
	return "unknown"
}

func redisURL(port int, password string) string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("", password), Host: fmt.Sprintf("127.0.0.1:%d", port), Path: "/0"}
	return u.String()
}

// pingRedis succeeds once the server on a port has loaded its content.
func pingRedis(ctx context.Context, port int, password string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, err := AskRedis(ctx, port, password, "PING")
	if err == nil && answer != "PONG" {
		return fmt.Errorf("%w: %s", errRefused, answer)
	}
	return err
}

// AskRedis sends one command and returns its response as text, with each element of a list on its own line. An error response is
// errRefused, unless it says that the server is not ready yet. It implements the protocol itself, because the client library logs every
// server that is down.
func AskRedis(ctx context.Context, port int, password string, command ...string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	// Closing the connection ends a read from a server that does not answer.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	answers := bufio.NewReader(conn)
	answer := ""
	for _, words := range [][]string{{"AUTH", password}, command} {
		if _, err := fmt.Fprint(conn, encodeRedis(words)); err != nil {
			return "", fmt.Errorf("ask: %w", err)
		}
		if answer, err = readRedis(answers); err != nil {
			return "", err
		}
	}
	return answer, nil
}

// encodeRedis encodes a command for the protocol: a list of texts with their lengths.
func encodeRedis(words []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// readRedis reads one response of the protocol.
func readRedis(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	line = strings.TrimSpace(line)
	if line == "" {
		return "", fmt.Errorf("%w: an empty line", errRefused)
	}
	rest := line[1:]
	switch line[0] {
	case '+', ':':
		return rest, nil
	case '-':
		if strings.HasPrefix(rest, "LOADING") {
			return "", errors.New(rest)
		}
		return "", fmt.Errorf("%w: %s", errRefused, rest)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n > 1<<20 {
		return "", fmt.Errorf("%w: %s", errRefused, line)
	}
	switch {
	case line[0] == '$' && n >= 0:
		text := make([]byte, n+len("\r\n"))
		if _, err := io.ReadFull(r, text); err != nil {
			return "", fmt.Errorf("ask: %w", err)
		}
		return string(text[:n]), nil
	case line[0] == '*':
		var elements []string
		for range n {
			element, err := readRedis(r)
			if err != nil {
				return "", err
			}
			elements = append(elements, element)
		}
		return strings.Join(elements, "\n"), nil
	case line[0] == '$': // nothing
		return "", nil
	}
	return "", fmt.Errorf("%w: %s", errRefused, line)
}
