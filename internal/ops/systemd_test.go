package ops_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/ops"
	"tidemark/internal/telemetry"
)

func TestTheServiceManagerIsTold(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "notify")
	at, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = at.Close() })
	var there atomic.Bool
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	watch := ops.NewWatch([]ops.Need{{Name: "redis", Setting: "REDIS_URL", Vital: true, Ask: func(context.Context) error {
		if there.Load() {
			return nil
		}
		return errors.New("connection refused")
	}}}, time.Now, log, nil)
	s := ops.New(ops.Options{Role: "worker", Needs: watch, Metrics: telemetry.NewMetrics("1", "c", time.Now), Log: log})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() { watch.Run(ctx); done <- struct{}{} }()
	go func() {
		s.Notify(ctx, ops.Manager{Socket: socket, Watchdog: 30 * time.Millisecond})
		done <- struct{}{}
	}()
	read := func(want string) []string {
		t.Helper()
		buf := make([]byte, 4096)
		for {
			if err := at.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			n, err := at.Read(buf)
			if err != nil {
				t.Fatalf("nothing with %q comes: %v", want, err)
			}
			if lines := strings.Split(string(buf[:n]), "\n"); strings.Contains(string(buf[:n]), want) {
				return lines
			}
		}
	}
	if lines := read("connection refused"); slices.Contains(lines, "READY=1") || !strings.Contains(lines[0], "STATUS=not ready, missing: redis; redis (REDIS_URL) since ") {
		t.Errorf("while Redis is away: %q", lines)
	}
	read("WATCHDOG=1")
	there.Store(true)
	if lines := read("READY=1"); lines[0] != "STATUS=ready" {
		t.Errorf("ready: %q", lines)
	}
	there.Store(false)
	read("STATUS=not ready")
	stop()
	read("STOPPING=1")
	<-done
	<-done
}
