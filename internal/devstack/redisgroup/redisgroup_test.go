package redisgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tidemark/internal/redisurl"
)

// A killed primary is replaced within seconds, under the same address. It comes back as a replica, and the group keeps its content.
func TestAGroupOutlivesItsPrimary(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(context.Context, Options) (*Group, error){
		"sentinel": StartSentinel, "cluster": StartCluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := start(t.Context(), Options{Dir: openDir(t)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = g.Stop(context.Background()) })
			at, err := redisurl.Parse(g.URL())
			if err != nil {
				t.Fatal(err)
			}
			if at.Kind() != name {
				t.Errorf("the address is that of a %s", at.Kind())
			}
			c := at.Client(nil)
			t.Cleanup(func() { _ = c.Close() })
			write := func(key string) error { return c.Set(t.Context(), key, "high", 0).Err() }
			for i := range 12 {
				if err := write(fmt.Sprint("before", i)); err != nil {
					t.Fatal(err)
				}
			}
			replicated(t, c)
			before, err := g.Primaries(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			victim := before[0]
			if err := victim.Kill(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "another has its place", func() bool {
				list, err := g.Primaries(t.Context())
				return err == nil && len(list) == len(before) && list[0] != victim
			})
			for i := range 12 {
				eventually(t, "writes are taken again", func() bool { return write(fmt.Sprint("after", i)) == nil })
				eventually(t, "what was written is there", func() bool {
					v, err := c.Get(t.Context(), fmt.Sprint("before", i)).Result()
					return err == nil && v == "high"
				})
			}
			if err := victim.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "it has come back as a replica", func() bool {
				role, err := g.ask(t.Context(), victim, "ROLE")
				return err == nil && has(role, "slave") && has(role, "connected")
			})
			if err := g.FlushAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), "before0").Err(); !errors.Is(err, redis.Nil) {
				t.Errorf("after everything was taken: %v", err)
			}
		})
	}
}

// replicated waits until the replicas have all writes.
func replicated(t *testing.T, c redis.UniversalClient) {
	t.Helper()
	cluster, ok := c.(*redis.ClusterClient)
	if !ok {
		if n, err := c.Do(t.Context(), "WAIT", 2, 5000).Int(); err != nil || n != 2 {
			t.Fatalf("%d replicas: %v", n, err)
		}
		return
	}
	err := cluster.ForEachMaster(t.Context(), func(ctx context.Context, one *redis.Client) error {
		return one.Do(ctx, "WAIT", 1, 5000).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// openDir returns a temporary folder that every user can enter, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tidemark-redisgroup-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// eventually polls until fact holds, and fails the test if it does not hold within a minute.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !fact() {
		select {
		case <-deadline:
			t.Fatalf("after a minute it is not so that %s", what)
		case <-tick.C:
		}
	}
}
