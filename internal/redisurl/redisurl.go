// Package redisurl reads the address of a Redis: one server, a primary with Sentinels, or a Cluster. It depends on go-redis only. The queue
// library accepts a Redis as it is, because it needs only MakeRedisClient. Start at Parse.
package redisurl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrAddress describes valid addresses. It does not quote the rejected address, which may hold a password.
var ErrAddress = errors.New("REDIS_URL is not a Redis URL: redis://[user:password@]host:port/db, redis-sentinel://[user:password@]host:port,host:port/db?master=name, " +
	"redis-cluster://[user:password@]host:port,host:port, or with rediss: the same by TLS")

// ErrMissing names the missing setting.
var ErrMissing = errors.New("REDIS_URL is not set: it names the Redis that carries the work, for example REDIS_URL=redis://127.0.0.1:6379/0")

// probeTimeout is the interval at which a client reloads the slots of a Cluster. By default, a client reloads them once a minute, or when a
// node redirects it. A dead node redirects no client, so its keys would be unreachable for that minute although its replica has taken over.
const probeTimeout = 2 * time.Second

// Redis is the address of a Redis. The zero value is not a usable address.
type Redis struct{ options redis.UniversalOptions }

// Parse reads an address. The forms, where rediss instead of redis means TLS:
//
//	redis://[user:password@]host[:port][/db]
//	redis-sentinel://[user:password@]host[:port],...[/db]?master=name[&sentinel_password=...]
//	redis-cluster://[user:password@]host[:port],...
//
// Without sentinel_password, the Sentinels get the password of the primary. An empty sentinel_password means that they need none.
func Parse(address string) (Redis, error) {
	if address == "" {
		return Redis{}, ErrMissing
	}
	scheme, rest, _ := strings.Cut(address, "://")
	kind, secure := strings.CutPrefix(scheme, "rediss")
	if !secure {
		var ok bool
		if kind, ok = strings.CutPrefix(scheme, "redis"); !ok {
			return Redis{}, ErrAddress
		}
	}
	// Package url does not accept a list of hosts: split sets the hosts aside before it parses the rest.
	u, hosts, err := split(rest)
	if err != nil {
		return Redis{}, ErrAddress
	}
	// The end of a context also ends the wait for a response.
	o := redis.UniversalOptions{Username: u.User.Username(), ContextTimeoutEnabled: true}
	o.Password, _ = u.User.Password()
	usual := "6379"
	switch kind {
	case "":
		if len(hosts) != 1 {
			return Redis{}, ErrAddress
		}
	case "-sentinel":
		usual = "26379"
		o.MasterName = u.Query().Get("master")
		o.SentinelPassword = o.Password
		if u.Query().Has("sentinel_password") {
			o.SentinelPassword = u.Query().Get("sentinel_password")
		}
		if o.MasterName == "" {
			return Redis{}, ErrAddress
		}
	case "-cluster":
		o.IsClusterMode = true
	default:
		return Redis{}, ErrAddress
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if o.DB, err = strconv.Atoi(db); err != nil || o.DB < 0 || o.IsClusterMode && o.DB > 0 {
			return Redis{}, ErrAddress
		}
	}
	for _, h := range hosts {
		if _, _, err := net.SplitHostPort(h); err != nil {
			h = net.JoinHostPort(strings.Trim(h, "[]"), usual)
		}
		o.Addrs = append(o.Addrs, h)
	}
	if secure {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if host, _, err := net.SplitHostPort(o.Addrs[0]); err == nil && len(hosts) == 1 {
			o.TLSConfig.ServerName = host
		}
	}
	return Redis{o}, nil
}

// split parses the part after the scheme. It returns everything except the hosts as a URL, and the hosts.
func split(rest string) (*url.URL, []string, error) {
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	user, hosts := "", rest[:end]
	if at := strings.LastIndex(hosts, "@"); at >= 0 {
		user, hosts = hosts[:at+1], hosts[at+1:]
	}
	u, err := url.Parse("redis://" + user + "host" + rest[end:])
	if err != nil {
		return nil, nil, err
	}
	list := strings.Split(hosts, ",")
	for _, h := range list {
		if _, err := url.Parse("redis://" + h); err != nil || h == "" || strings.HasPrefix(h, ":") {
			return nil, nil, ErrAddress
		}
	}
	return u, list, nil
}

// Client returns a client. tune can change its options and may be nil. The client connects at its first use.
func (r Redis) Client(tune func(*redis.UniversalOptions)) redis.UniversalClient {
	o := r.options
	if tune != nil {
		tune(&o)
	}
	var client redis.UniversalClient
	if o.IsClusterMode {
		c := o.Cluster()
		c.ClusterStateReloadInterval = probeTimeout
		client = redis.NewClusterClient(c)
	} else {
		client = redis.NewUniversalClient(&o)
	}
	client.AddHook(countingHook{})
	return client
}

// MakeRedisClient implements the interface that the queue library expects.
func (r Redis) MakeRedisClient() any { return r.Client(nil) }

// LogTo writes the messages of the client library to a log, for the whole process. They help to find a fault in a connection: each failed
// dial is a message. The program reports separately that Redis is unavailable.
func LogTo(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

type clientLog struct{ log *slog.Logger }

// Printf implements the logger interface of the client library.
func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	l.log.DebugContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
}

// Ping checks without retries that the server responds and accepts changes: a replica, a server without memory, and one that cannot write its
// log refuse them. It pushes to a list that does not exist, which changes nothing; a login without the right to that sends PING. It waits until
// the deadline of ctx; without one, as long as the client library does.
func (r Redis) Ping(ctx context.Context) error {
	c := r.Client(func(o *redis.UniversalOptions) {
		o.MaxRetries, o.DialerRetries = -1, 1
		if end, ok := ctx.Deadline(); ok {
			o.DialTimeout, o.ReadTimeout = max(time.Until(end), time.Millisecond), max(time.Until(end), time.Millisecond)
		}
	})
	err := c.LPushX(ctx, "asynq:tidemark:ping", "").Err()
	if redis.IsPermissionError(err) {
		err = c.Ping(ctx).Err()
	}
	return errors.Join(err, c.Close())
}

// Kind is single, sentinel or cluster.
func (r Redis) Kind() string {
	switch {
	case r.options.MasterName != "":
		return "sentinel"
	case r.options.IsClusterMode:
		return "cluster"
	}
	return "single"
}
