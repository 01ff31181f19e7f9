package redisurl

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func TestParse(t *testing.T) {
	t.Parallel()
	type want struct {
		Addrs                                []string
		User, Password, Sentinel, MasterName string
		DB                                   int
		TLS, Cluster                         bool
	}
	for address, w := range map[string]want{
		"redis://127.0.0.1:6379/0":       {Addrs: []string{"127.0.0.1:6379"}},
		"redis://h":                      {Addrs: []string{"h:6379"}},
		"redis://[::1]:7/3":              {Addrs: []string{"[::1]:7"}, DB: 3},
		"redis://:secret@h:1/2":          {Addrs: []string{"h:1"}, Password: "secret", DB: 2},
		"redis://me:p%40ss%2Fword@h:1/2": {Addrs: []string{"h:1"}, User: "me", Password: "p@ss/word", DB: 2},
		"rediss://h:1":                   {Addrs: []string{"h:1"}, TLS: true},
		"redis-sentinel://a:1,b:2?master=m": {
			Addrs: []string{"a:1", "b:2"}, MasterName: "m",
		},
		"redis-sentinel://u:p@a,b/1?master=m": {
			Addrs: []string{"a:26379", "b:26379"}, User: "u", Password: "p", Sentinel: "p", MasterName: "m", DB: 1,
		},
		"redis-sentinel://:p@a:1?master=m&sentinel_password=": {Addrs: []string{"a:1"}, Password: "p", MasterName: "m"},
		"redis-cluster://a:1,b:2,c:3":                         {Addrs: []string{"a:1", "b:2", "c:3"}, Cluster: true},
		"rediss-cluster://u:p@one:1":                          {Addrs: []string{"one:1"}, User: "u", Password: "p", Cluster: true, TLS: true},
	} {
		r, err := Parse(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		o := r.options
		got := want{o.Addrs, o.Username, o.Password, o.SentinelPassword, o.MasterName, o.DB, o.TLSConfig != nil, o.IsClusterMode}
		if d := cmp.Diff(w, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", address, d)
		}
	}
	for _, address := range []string{
		"", "h:6379", "http://h", "redis://", "redis://a,b", "redis://h/x", "redis://h/-1", "redis-sentinel://a:1", "redis-cluster://a:1/1",
		"redis-socket:///x", "redis://:p@", "redis-cluster://a,,b",
	} {
		if _, err := Parse(address); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

func TestAMissingAddressIsNamedWithAnExample(t *testing.T) {
	t.Parallel()
	_, err := Parse("")
	if err == nil || !strings.Contains(err.Error(), "REDIS_URL is not set") || !strings.Contains(err.Error(), "REDIS_URL=redis://127.0.0.1:6379/0") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheClientLibraryWritesLinesOfTheLog(t *testing.T) {
	var out bytes.Buffer
	LogTo(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	r, err := Parse("redis://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Ping(t.Context()); err == nil {
		t.Fatal("there is a Redis at port 1")
	}
	LogTo(slog.New(slog.DiscardHandler))
	var line struct{ Level, Msg, Message string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Level != "DEBUG" || !strings.Contains(line.Message, "failed to dial") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestClientIsOfTheKind(t *testing.T) {
	t.Parallel()
	for address, kind := range map[string]string{
		"redis://h": "single", "redis-sentinel://h?master=m": "sentinel", "redis-cluster://h": "cluster",
	} {
		r, err := Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		c := r.Client(nil)
		if _, cluster := c.(*redis.ClusterClient); cluster != (kind == "cluster") || r.Kind() != kind {
			t.Errorf("%s: a client %T of kind %s", address, c, r.Kind())
		}
		_ = c.Close()
	}
}
