// Package redisgroup starts several Redis servers that work as one, for tests: a primary with replicas and Sentinels, or a Cluster.
package redisgroup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"tidemark/internal/devstack"
)

// startTimeout limits the wait until the servers of a group have found each other.
const startTimeout = 2 * time.Minute

// Options describe a group. Only Dir is required.
type Options struct {
	// Dir holds a folder for each server. Another start on it finds the same servers on the same ports.
	Dir string
	// AppendOnly, BinDirs, OnlyBinDirs, Log: as in devstack.RedisOptions.
	AppendOnly  bool
	BinDirs     []string
	OnlyBinDirs bool
	Log         *slog.Logger
}

// Group is several Redis servers that work as one. They share a password. Its methods are safe for concurrent use.
type Group struct {
	servers, sentinels []*devstack.Server
	password, url      string
	// primaries returns the servers that accept writes, as the group reports them.
	primaries func(ctx context.Context) ([]*devstack.Server, error)
}

// URL returns the address of the group, in the form of REDIS_URL. It does not change if single servers fail.
func (g *Group) URL() string { return g.url }

// Servers returns the servers that hold the content. Call Kill and Restart on them. A restarted server becomes a replica if another server
// has become the primary.
func (g *Group) Servers() []*devstack.Server { return g.servers }

// Primaries returns the servers that accept writes at this moment: one with Sentinels, one per part of a Cluster. During a failover,
// it may include a server that is down or about to become a replica. An error means that no server could be queried.
func (g *Group) Primaries(ctx context.Context) ([]*devstack.Server, error) { return g.primaries(ctx) }

// FlushAll deletes all keys of the reachable primaries, and so of their replicas.
func (g *Group) FlushAll(ctx context.Context) error {
	list, err := g.Primaries(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if _, err := g.ask(ctx, s, "FLUSHALL"); err != nil {
			return fmt.Errorf("empty the server at port %d: %w", s.Port(), err)
		}
	}
	return nil
}

// Stop stops all servers in order, the Sentinels first, so that they start no failover.
func (g *Group) Stop(ctx context.Context) error {
	return errors.Join(stopAll(ctx, g.sentinels), stopAll(ctx, g.servers))
}

func stopAll(ctx context.Context, list []*devstack.Server) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() { errs[i] = s.Stop(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ask sends a command to a server of the group.
func (g *Group) ask(ctx context.Context, s *devstack.Server, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return devstack.AskRedis(ctx, s.Port(), g.password, command...)
}

// urlOf returns an address of several hosts.
func (g *Group) urlOf(scheme string, list []*devstack.Server, path, query string) string {
	hosts := make([]string, len(list))
	for i, s := range list {
		hosts[i] = fmt.Sprintf("127.0.0.1:%d", s.Port())
	}
	user := url.UserPassword("", g.password)
	return scheme + "://" + user.String() + "@" + strings.Join(hosts, ",") + path + query
}

// settled waits until a group is complete: until missing returns an empty text.
func settled(ctx context.Context, missing func(ctx context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		what, err := missing(ctx)
		if err == nil && what == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the servers do not find each other: %s: %w", what, errors.Join(err, ctx.Err()))
		case <-tick.C:
		}
	}
}

// has reports whether a response of several lines contains a line.
func has(answer, line string) bool {
	return strings.Contains("\n"+strings.ReplaceAll(answer, "\r\n", "\n")+"\n", "\n"+line+"\n")
}
