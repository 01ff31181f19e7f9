// Package httpserve runs an HTTP server until a context ends, and then lets open requests finish. Start at Until.
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

// Until serves requests on ln until ctx ends, and closes ln. After the end of ctx, it waits for the requests in flight, for grace at most,
// and then closes the remaining connections. It returns nil if ctx ended. after may be nil; it is called with a context that ends with the
// grace period.
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
