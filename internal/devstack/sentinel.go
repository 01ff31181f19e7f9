package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// masterName is the Sentinels' name of the primary.
	masterName = "tidemark"
	// sentinelReplicas is the number of replicas of the primary, and sentinelWatchers the number of Sentinels. Two Sentinels must agree
	// that it is down.
	sentinelReplicas, sentinelWatchers = 2, 3
)

// StartSentinel runs a primary, two replicas and three Sentinels, and returns once each knows the others. A primary that does not answer
// for a second is replaced by a replica. ctx limits only the start. Nothing is left running after an error. On a machine without
// redis-server, the error is ErrNotInstalled.
func StartSentinel(ctx context.Context, o RedisGroupOptions) (_ *RedisGroup, err error) {
	g := &RedisGroup{}
	g.primaries = g.watched
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for i := range 1 + sentinelReplicas {
		if err := g.add(ctx, o, fmt.Sprint("server", i+1), &g.servers, RedisOptions{AppendOnly: o.AppendOnly, more: g.asReplica}); err != nil {
			return nil, err
		}
	}
	if err := settled(ctx, g.unlinked); err != nil {
		return nil, err
	}
	for i := range sentinelWatchers {
		if err := g.add(ctx, o, fmt.Sprint("sentinel", i+1), &g.sentinels, RedisOptions{sentinel: true, more: g.asSentinel}); err != nil {
			return nil, err
		}
	}
	g.url = groupURL("redis-sentinel", g.sentinels, "/0", "?master="+masterName)
	return g, settled(ctx, g.unwatched)
}

// add starts one more server of a group, with the password of the first.
func (g *RedisGroup) add(ctx context.Context, o RedisGroupOptions, name string, to *[]*Server, r RedisOptions) error {
	r.Dir, r.BinDirs, r.OnlyBinDirs, r.Log = filepath.Join(o.Dir, name), o.BinDirs, o.OnlyBinDirs, o.Log
	if len(g.servers) > 0 {
		r.password = g.servers[0].home.keep.Password
	}
	s, err := StartRedis(ctx, r)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	*to = append(*to, s)
	return nil
}

// asReplica makes a starting server the replica of the present primary. The Sentinels correct it if the primary changes later.
func (g *RedisGroup) asReplica(ctx context.Context, h *stateDir, port int) []string {
	primary := port
	if len(g.servers) > 0 {
		primary = g.servers[0].Port()
	}
	if list, err := g.watched(ctx); err == nil {
		primary = list[0].Port()
	}
	lines := []string{"masterauth " + h.keep.Password, "repl-diskless-sync-delay 0"}
	if primary != port {
		lines = append(lines, fmt.Sprintf("replicaof 127.0.0.1 %d", primary))
	}
	return lines
}

// asSentinel returns the first configuration of a Sentinel.
func (g *RedisGroup) asSentinel(_ context.Context, h *stateDir, _ int) []string {
	return []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", masterName, g.servers[0].Port()),
		"sentinel auth-pass " + masterName + " " + h.keep.Password,
		"sentinel sentinel-pass " + h.keep.Password,
		"sentinel down-after-milliseconds " + masterName + " 1000",
		"sentinel failover-timeout " + masterName + " 5000",
	}
}

// sentinelCommand runs a Sentinel on its configuration file, which is written for the first start on a port.
func (o RedisOptions) sentinelCommand(ctx context.Context, h *stateDir, program string, port int) *exec.Cmd {
	path := filepath.Join(h.data(), "sentinel.conf")
	first := fmt.Sprintf("port %d\n", port)
	if content, err := os.ReadFile(path); err != nil || !strings.Contains("\n"+string(content), "\n"+first) {
		lines := append([]string{
			first + "bind 127.0.0.1", fmt.Sprintf("dir %q", h.data()), "requirepass " + h.keep.Password, "daemonize no",
		}, o.more(ctx, h, port)...)
		// If writing fails, the server cannot read the file and reports it.
		_ = os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
		_ = h.give(path)
	}
	return exec.CommandContext(ctx, program, path, "--sentinel")
}

// unlinked names a replica that does not have its content yet.
func (g *RedisGroup) unlinked(ctx context.Context) (string, error) {
	for _, s := range g.servers[1:] {
		answer, err := s.ask(ctx, "INFO", "replication")
		if err != nil || !has(answer, "master_link_status:up") {
			return fmt.Sprintf("the replica at port %d has no content yet", s.Port()), err
		}
	}
	return "", nil
}

// unwatched names a Sentinel that does not know all servers yet.
func (g *RedisGroup) unwatched(ctx context.Context) (string, error) {
	for _, s := range g.sentinels {
		answer, err := s.ask(ctx, "SENTINEL", "MASTER", masterName)
		if err != nil || !has(answer, fmt.Sprintf("num-slaves\n%d", sentinelReplicas)) ||
			!has(answer, fmt.Sprintf("num-other-sentinels\n%d", sentinelWatchers-1)) {
			return fmt.Sprintf("the Sentinel at port %d does not know everyone yet", s.Port()), err
		}
	}
	return "", nil
}

// watched returns the primary that the first answering Sentinel reports.
func (g *RedisGroup) watched(ctx context.Context) ([]*Server, error) {
	var errs []error
	for _, sentinel := range g.sentinels {
		answer, err := sentinel.ask(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_, port, _ := strings.Cut(answer, "\n")
		for _, s := range g.servers {
			if strconv.Itoa(s.Port()) == port {
				return []*Server{s}, nil
			}
		}
	}
	return nil, fmt.Errorf("no Sentinel knows the primary: %w", errors.Join(errs...))
}
