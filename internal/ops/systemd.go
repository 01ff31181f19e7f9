package ops

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"
)

// Manager is the service manager that started the process, with systemd's protocol for services of Type=notify. An empty Socket means that
// the process has no service manager.
type Manager struct {
	// Socket is the value of NOTIFY_SOCKET.
	Socket string
	// Watchdog is the time within which systemd expects a heartbeat. Zero means that it expects none.
	Watchdog time.Duration
}

// tellEvery is the interval at which the manager receives a changed state of the process.
const tellEvery = time.Second

// Notify tells the manager when the process first does its work, what it lacks, that it is alive, and that it stops. It returns when ctx
// has ended. An unreachable manager is not a fault of the process.
func (s *Server) Notify(ctx context.Context, m Manager) {
	if m.Socket == "" {
		<-ctx.Done()
		return
	}
	address := m.Socket
	if name, ok := strings.CutPrefix(address, "@"); ok {
		address = "\x00" + name // a socket without a file
	}
	told := false
	tell := func(ctx context.Context, lines ...string) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", address)
		if err == nil {
			_, err = conn.Write([]byte(strings.Join(lines, "\n")))
			_ = conn.Close()
		}
		if err != nil && !told {
			told = true
			s.o.Log.WarnContext(ctx, "the service manager cannot be told how the process stands (NOTIFY_SOCKET)", slog.Any("err", err))
		}
	}
	every := tellEvery
	if m.Watchdog > 0 {
		every = min(every, m.Watchdog/3)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	ready, status := false, ""
	for {
		h := s.health()
		var lines []string
		if text := "STATUS=" + h.line(); text != status {
			lines, status = append(lines, text), text
		}
		if h.OK && !ready {
			lines, ready = append(lines, "READY=1"), true
		}
		if m.Watchdog > 0 {
			lines = append(lines, "WATCHDOG=1")
		}
		if len(lines) > 0 {
			tell(ctx, lines...)
		}
		select {
		case <-ctx.Done():
			tell(context.WithoutCancel(ctx), "STOPPING=1")
			return
		case <-tick.C:
		}
	}
}

// line describes the health of the process in one line.
func (h Health) line() string {
	var parts []string
	if len(h.Missing) > 0 {
		parts = append(parts, "not ready, missing: "+strings.Join(h.Missing, ", "))
	} else {
		parts = append(parts, "ready")
	}
	if len(h.Degraded) > 0 {
		parts = append(parts, "away: "+strings.Join(h.Degraded, ", "))
	}
	for _, n := range h.Needs {
		if !n.OK {
			parts = append(parts, fmt.Sprintf("%s (%s) since %s: %s", n.Name, n.Setting, instant(n.Since), line(n.LastError)))
		}
	}
	return strings.Join(parts, "; ")
}
