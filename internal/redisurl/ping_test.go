package redisurl_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"tidemark/internal/pgtest"
	"tidemark/internal/redisurl"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestAServerThatRefusesChangesDoesNotAnswerAPing(t *testing.T) {
	t.Parallel()
	r, err := redisurl.Parse(pgtest.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	client := r.Client(func(*redis.UniversalOptions) {})
	defer func() { _ = client.Close() }()
	do := func(words ...any) {
		t.Helper()
		if err := client.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name           string
		refuse, accept []any
	}{
		{"a full memory", []any{"config", "set", "maxmemory", "1"}, []any{"config", "set", "maxmemory", "0"}},
		{"too few replicas", []any{"config", "set", "min-replicas-to-write", "1"}, []any{"config", "set", "min-replicas-to-write", "0"}},
		{"a replica", []any{"replicaof", "127.0.0.1", "1"}, []any{"replicaof", "no", "one"}},
	} {
		do(c.refuse...)
		if err := r.Ping(t.Context()); err == nil {
			t.Errorf("%s answers a ping", c.name)
		}
		do(c.accept...)
		if err := r.Ping(t.Context()); err != nil {
			t.Errorf("after %s: %v", c.name, err)
		}
	}
	if n, err := client.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("a ping left %d keys: %v", n, err)
	}
	do("acl", "setuser", "default", "-lpushx")
	if err := r.Ping(t.Context()); err != nil {
		t.Errorf("without the right to push: %v", err)
	}
}
