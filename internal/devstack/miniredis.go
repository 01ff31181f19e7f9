package devstack

import (
	"crypto/rand"
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// miniRedis is a Redis inside this process, for a first try on a machine without redis-server. It loses everything at exit.
type miniRedis struct {
	server *miniredis.Miniredis
	url    string
}

func startFixtureIn() (*miniRedis, error) {
	m := miniredis.NewMiniRedis()
	// Without this, keys never expire.
	m.ClockTTL(true)
	password := rand.Text()
	m.RequireAuth(password)
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &miniRedis{server: m, url: fmt.Sprintf("redis://:%s@%s/0", password, m.Addr())}, nil
}

// stop closes the listener and all connections. A second call does nothing.
func (s *miniRedis) stop() { s.server.Close() }
