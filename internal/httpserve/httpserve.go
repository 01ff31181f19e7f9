// Package httpserve runs an HTTP server for as long as a context lives.
package httpserve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// Until answers the requests of ln until ctx ends, and closes ln. It returns nil when ctx ended, after the requests in flight were
// answered or grace has passed: those who still talk then are cut off. after, where it is not nil, is called with what is left of the
// grace.
func Until(ctx context.Context, srv *http.Server, ln net.Listener, grace time.Duration, after func(context.Context)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve %s: %w", ln.Addr(), err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if srv.Shutdown(end) != nil {
			_ = srv.Close()
		}
		if after != nil {
			after(end)
		}
		return nil
	})
	return g.Wait()
}
