package redisgroup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"tidemark/internal/devstack"
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
// redis-server, the error is devstack.ErrNotInstalled.
func StartSentinel(ctx context.Context, o Options) (_ *Group, err error) {
	g := &Group{}
	g.primaries = g.watched
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for i := range 1 + sentinelReplicas {
		if err := g.add(ctx, o, fmt.Sprint("server", i+1), &g.servers, devstack.RedisOptions{AppendOnly: o.AppendOnly, More: g.asReplica}); err != nil {
			return nil, err
		}
	}
	if err := settled(ctx, g.unlinked); err != nil {
		return nil, err
	}
	for i := range sentinelWatchers {
		if err := g.add(ctx, o, fmt.Sprint("sentinel", i+1), &g.sentinels, devstack.RedisOptions{Sentinel: true, More: g.asSentinel}); err != nil {
			return nil, err
		}
	}
	g.url = g.urlOf("redis-sentinel", g.sentinels, "/0", "?master="+masterName)
	return g, settled(ctx, g.unwatched)
}

// add starts one more server of a group, with the password of the first.
func (g *Group) add(ctx context.Context, o Options, name string, to *[]*devstack.Server, r devstack.RedisOptions) error {
	r.Dir, r.BinDirs, r.OnlyBinDirs, r.Log, r.Password = filepath.Join(o.Dir, name), o.BinDirs, o.OnlyBinDirs, o.Log, g.password
	s, err := devstack.StartRedis(ctx, r)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if at, err := url.Parse(s.URL()); err == nil {
		g.password, _ = at.User.Password()
	}
	*to = append(*to, s)
	return nil
}

// asReplica makes a starting server the replica of the present primary. The Sentinels correct it if the primary changes later.
func (g *Group) asReplica(ctx context.Context, port int, password string) []string {
	primary := port
	if len(g.servers) > 0 {
		primary = g.servers[0].Port()
	}
	if list, err := g.watched(ctx); err == nil {
		primary = list[0].Port()
	}
	lines := []string{"masterauth " + password, "repl-diskless-sync-delay 0"}
	if primary != port {
		lines = append(lines, fmt.Sprintf("replicaof 127.0.0.1 %d", primary))
	}
	return lines
}

// asSentinel returns the first configuration of a Sentinel.
func (g *Group) asSentinel(_ context.Context, _ int, password string) []string {
	return []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 2", masterName, g.servers[0].Port()),
		"sentinel auth-pass " + masterName + " " + password,
		"sentinel sentinel-pass " + password,
		"sentinel down-after-milliseconds " + masterName + " 1000",
		"sentinel failover-timeout " + masterName + " 5000",
	}
}

// unlinked names a replica that does not have its content yet.
func (g *Group) unlinked(ctx context.Context) (string, error) {
	for _, s := range g.servers[1:] {
		answer, err := g.ask(ctx, s, "INFO", "replication")
		if err != nil || !has(answer, "master_link_status:up") {
			return fmt.Sprintf("the replica at port %d has no content yet", s.Port()), err
		}
	}
	return "", nil
}

// unwatched names a Sentinel that does not know all servers yet.
func (g *Group) unwatched(ctx context.Context) (string, error) {
	for _, s := range g.sentinels {
		answer, err := g.ask(ctx, s, "SENTINEL", "MASTER", masterName)
		if err != nil || !has(answer, fmt.Sprintf("num-slaves\n%d", sentinelReplicas)) ||
			!has(answer, fmt.Sprintf("num-other-sentinels\n%d", sentinelWatchers-1)) {
			return fmt.Sprintf("the Sentinel at port %d does not know everyone yet", s.Port()), err
		}
	}
	return "", nil
}

// watched returns the primary that the first answering Sentinel reports.
func (g *Group) watched(ctx context.Context) ([]*devstack.Server, error) {
	var errs []error
	for _, sentinel := range g.sentinels {
		answer, err := g.ask(ctx, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_, port, _ := strings.Cut(answer, "\n")
		for _, s := range g.servers {
			if strconv.Itoa(s.Port()) == port {
				return []*devstack.Server{s}, nil
			}
		}
	}
	return nil, fmt.Errorf("no Sentinel knows the primary: %w", errors.Join(errs...))
}
