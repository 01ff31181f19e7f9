package chaos

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/test/program"
)

// unit is a process under a service manager: if it ends on its own, it is started again, as by compose's `restart: unless-stopped`. Only a
// process that does not find Postgres when it starts may end on its own.
type unit struct {
	name string
	// setting names the listener that is asked, at path, whether the process is ready.
	setting, path string

	mu sync.Mutex
	// wanted reports whether the process should run; ready, whether it has been ready since its last start.
	wanted, ready bool
	process       *program.Process
	// base is where its listener was last; lives is how often it became ready, again how often it was started again.
	base         string
	lives, again int
}

// life is the state of a unit at a moment.
type life struct {
	base  string
	ready bool
	n     int
}

func newUnit(name string) *unit {
	u := &unit{name: name, setting: "OPS_ADDR", path: "/healthz"}
	if u.role() == "api" {
		u.setting, u.path = "ADDR", "/readyz"
	}
	return u
}

func (u *unit) role() string {
	role, _, _ := strings.Cut(u.name, " ")
	return role
}

// now is the unit as it is.
func (u *unit) now() life {
	u.mu.Lock()
	defer u.mu.Unlock()
	return life{u.base, u.ready, u.lives}
}

// start makes the unit run. restarted counts its automatic restarts.
func (u *unit) start() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wanted = true
}

func (u *unit) restarted() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.again
}

// kill ends the process at once, and lets none begin.
func (u *unit) kill() {
	u.mu.Lock()
	u.wanted, u.ready = false, false
	p := u.process
	u.mu.Unlock()
	if p != nil {
		p.Kill()
	}
}

// signal sends a signal to the process, if there is one.
func (u *unit) signal(sig syscall.Signal) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.process != nil {
		u.process.Signal(sig)
	}
}

// keep keeps the unit running while it is wanted, until ctx ends.
func (u *unit) keep(ctx context.Context, t *testing.T, o program.Options) {
	for sleep(ctx, 20*time.Millisecond) == nil {
		p := u.launch(t, o)
		if p == nil {
			continue
		}
		for ended := false; !ended; {
			select {
			case <-p.Done:
				ended = true
			case <-ctx.Done():
				p.Kill()
			case <-time.After(20 * time.Millisecond):
				u.look(ctx, p)
			}
		}
		u.mu.Lock()
		alone := u.wanted && ctx.Err() == nil
		if alone {
			u.again++
		}
		if alone && u.ready {
			t.Errorf("%s has ended by itself:\n%s", u.name, tail(p.Output()))
		}
		u.ready, u.process = false, nil
		u.mu.Unlock()
		if alone {
			_ = sleep(ctx, 200*time.Millisecond)
		}
	}
}

// launch starts the process of a unit that is wanted.
func (u *unit) launch(t *testing.T, o program.Options) *program.Process {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.wanted {
		u.process = program.Start(t, o, u.role())
	}
	return u.process
}

// listens finds where a process says that it listens, by the setting.
var listens = map[string]*regexp.Regexp{
	"ADDR":     regexp.MustCompile(`"setting":"ADDR","addr":"([^"]+)"`),
	"OPS_ADDR": regexp.MustCompile(`"setting":"OPS_ADDR","addr":"([^"]+)"`),
}

// look asks a process that has begun whether it is ready.
func (u *unit) look(ctx context.Context, p *program.Process) {
	if u.now().ready {
		return
	}
	address := listens[u.setting].FindStringSubmatch(p.Output())
	if address == nil {
		return
	}
	base := "http://" + address[1]
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if a, err := ask(ctx, question{path: u.path}, base, "", ""); err != nil || a.status != http.StatusOK {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.wanted && u.process == p {
		u.ready, u.base = true, base
		u.lives++
	}
}

// there waits until each of some units is ready.
func there(ctx context.Context, list []*unit) error {
	for deadline := time.Now().Add(3 * time.Minute); ; {
		missing := ""
		for _, u := range list {
			if !u.now().ready {
				missing = u.name
			}
		}
		if missing == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not become ready", missing)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-3000):] }
