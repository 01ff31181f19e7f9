package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"
)

// RedisGroupOptions describe several Redis servers that stand for one. Only Dir is needed.
type RedisGroupOptions struct {
	// Dir holds a folder for each server. Another start on it finds the same servers in the same places.
	Dir string
	// AppendOnly, BinDirs, OnlyBinDirs, Log: as in RedisOptions.
	AppendOnly  bool
	BinDirs     []string
	OnlyBinDirs bool
	Log         *slog.Logger
}

// RedisGroup is several Redis servers that stand for one: a primary with replicas that Sentinels watch over, or a Cluster. They share a
// password. Its methods may be called from any goroutine.
type RedisGroup struct {
	servers, sentinels []*Server
	url                string
	// primaries lists the servers that take writes, by what the group itself says.
	primaries func(ctx context.Context) ([]*Server, error)
}

// URL is the address of the group, as REDIS_URL takes it. It stays the same whatever becomes of single servers.
func (g *RedisGroup) URL() string { return g.url }

// Servers are those that hold the content. Kill and Restart are theirs; one that comes back is a replica where another has its place.
func (g *RedisGroup) Servers() []*Server { return g.servers }

// Primaries are the servers that take writes at this moment: one under Sentinels, one for each part of a Cluster. While the group is
// about to decide that, a server may be among them that is down or about to be a replica. An error tells that nobody could be asked.
func (g *RedisGroup) Primaries(ctx context.Context) ([]*Server, error) { return g.primaries(ctx) }

// FlushAll takes everything from the primaries that can be reached, and so from their replicas.
func (g *RedisGroup) FlushAll(ctx context.Context) error {
	list, err := g.Primaries(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if _, err := s.ask(ctx, "FLUSHALL"); err != nil {
			return fmt.Errorf("empty the server at port %d: %w", s.Port(), err)
		}
	}
	return nil
}

// Stop ends all servers in order, the Sentinels first, so that they make nothing of it.
func (g *RedisGroup) Stop(ctx context.Context) error {
	return errors.Join(stopAll(ctx, g.sentinels), stopAll(ctx, g.servers))
}

func stopAll(ctx context.Context, list []*Server) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() { errs[i] = s.Stop(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ask sends a command to a Redis.
func (s *Server) ask(ctx context.Context, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return askRedis(ctx, s.Port(), s.home.keep.Password, command...)
}

// groupURL is an address of several hosts.
func groupURL(scheme string, list []*Server, path, query string) string {
	hosts := make([]string, len(list))
	for i, s := range list {
		hosts[i] = fmt.Sprintf("127.0.0.1:%d", s.Port())
	}
	user := url.UserPassword("", list[0].home.keep.Password)
	return scheme + "://" + user.String() + "@" + strings.Join(hosts, ",") + path + query
}

// settled waits until a group has found itself: until ok says nothing is missing.
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

// has tells whether an answer of lines has a line.
func has(answer, line string) bool {
	return strings.Contains("\n"+strings.ReplaceAll(answer, "\r\n", "\n")+"\n", "\n"+line+"\n")
}
