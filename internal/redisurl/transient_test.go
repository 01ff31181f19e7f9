package redisurl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// answering starts a server that answers every command with a line. With "" it accepts connections and sends nothing.
func answering(t *testing.T, line string) Redis {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if line == "" {
				t.Cleanup(func() { _ = c.Close() })
				continue
			}
			go func() {
				defer func() { _ = c.Close() }()
				for r := bufio.NewReader(c); ; {
					text, err := r.ReadString('\n')
					if err != nil || line == "hang up" {
						return
					}
					if strings.HasPrefix(text, "*") { // one answer for each command
						_, _ = fmt.Fprintf(c, "%s\r\n", line)
					}
				}
			}()
		}
	}()
	r, err := Parse("redis://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestErrorsThatPassHaveAClass(t *testing.T) {
	t.Parallel()
	refused, err := Parse("redis://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, class string
		at          Redis
	}{
		{"the server loads", ClassLoading, answering(t, "-LOADING Redis is loading the dataset in memory")},
		{"a replica", ClassReadOnly, answering(t, "-READONLY You can't write against a read only replica.")},
		{"keys on the way", ClassMoving, answering(t, "-TRYAGAIN Multiple keys request during rehashing of slot")},
		{"a Cluster without a primary", ClassDown, answering(t, "-CLUSTERDOWN The cluster is down")},
		{"a replica without its primary", ClassDown, answering(t, "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.")},
		{"a full server", ClassConnections, answering(t, "-ERR max number of clients reached")},
		{"nothing listens", ClassConnection, refused},
		{"the server hangs up", ClassConnection, answering(t, "hang up")},
		{"the server hangs", ClassTimeout, answering(t, "")},
		{"a wrong password", "", answering(t, "-WRONGPASS invalid username-password pair or user is disabled.")},
		{"no password", "", answering(t, "-NOAUTH Authentication required.")},
		{"no memory", "", answering(t, "-OOM command not allowed when used memory > 'maxmemory'.")},
		{"a wrong command", "", answering(t, "-ERR unknown command 'x'")},
		{"nothing is there", "", answering(t, "$-1")},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			client := c.at.Client(func(o *redis.UniversalOptions) {
				o.MaxRetries, o.DialerRetries, o.ReadTimeout, o.Protocol, o.DisableIdentity = -1, 1, 2*time.Second, 2, true
			})
			defer func() { _ = client.Close() }()
			err := client.Get(t.Context(), "x").Err()
			if err == nil {
				t.Fatal("no error")
			}
			if got := Transient(fmt.Errorf("enqueue: %w", err)); got != c.class {
				t.Errorf("%v is of the class %q, want %q", err, got, c.class)
			}
		})
	}
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded, errors.New("LOADING"), io.ErrShortWrite} {
		if got := Transient(err); got != "" {
			t.Errorf("%v is of the class %q", err, got)
		}
	}
}

// Not parallel: the counter is global to the process and also receives the errors of other tests.
func TestErrorsThatPassAreCounted(t *testing.T) {
	var loading atomic.Int32
	CountTo(func(class string) {
		if class == ClassLoading {
			loading.Add(1)
		}
	})
	t.Cleanup(func() { counter.Store(nil) })
	client := answering(t, "-LOADING Redis is loading the dataset in memory").Client(func(o *redis.UniversalOptions) {
		o.MaxRetries, o.Protocol, o.DisableIdentity = -1, 2, true
	})
	defer func() { _ = client.Close() }()
	_ = client.Get(t.Context(), "x").Err()
	_, _ = client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		p.Get(t.Context(), "x")
		return nil
	})
	if n := loading.Load(); n < 2 { // the handshake of a connection is a command, too
		t.Errorf("a command and a pipeline counted %d errors", n)
	}
}
