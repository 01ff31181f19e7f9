package main

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func TestWhatIsASecondSignal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		signal os.Signal
		after  time.Duration
		want   bool
	}{
		{"GNU timeout signals the process, then its group", syscall.SIGTERM, time.Millisecond, false},
		{"Ctrl-C under a program that hands it on", os.Interrupt, 50 * time.Millisecond, false},
		{"a closed terminal: its shell, then the kernel", syscall.SIGHUP, 10 * time.Millisecond, false},
		{"a closed terminal, on a busy machine", syscall.SIGHUP, 5 * time.Second, false},
		{"an operator who does not wait", os.Interrupt, time.Second, true},
		{"a supervisor that does not wait", syscall.SIGTERM, 10 * time.Second, true},
	} {
		if got := urges(c.signal, c.after); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
