package witness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// recallEvery is the interval at which a witness looks for its own lines, and recallAgain the interval after a failed try.
	recallEvery = time.Hour
	recallAgain = time.Minute
	// recallTimeout bounds one answer, and maxRecalled its length in bytes.
	recallTimeout = 30 * time.Second
	maxRecalled   = 64 << 10
)

// Watch looks now, and then each hour, for lines of this witness in the checkpoints that its logs serve, until ctx ends. A line over a larger
// size than the state has shows that the state was put back: the witness stops. A log without an address is not asked.
func (s *Server) Watch(ctx context.Context, transport http.RoundTripper) {
	tick := time.NewTimer(s.look(ctx, transport))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			tick.Reset(s.look(ctx, transport))
		}
	}
}

// look asks each log once, and returns how long to wait for the next look.
func (s *Server) look(ctx context.Context, transport http.RoundTripper) time.Duration {
	wait := recallEvery
	for origin, l := range s.logs {
		if l.header.url == "" {
			continue
		}
		answered := false
		for _, name := range []string{"/checkpoint.witnessed", "/checkpoint"} {
			checkpoint, err := fetch(ctx, transport, strings.TrimRight(l.header.url, "/")+name)
			if err != nil {
				s.log.WarnContext(ctx, "a log does not show what it holds of this witness", "log", origin, "err", err)
				continue
			}
			answered = true
			if err := s.Recall(origin, checkpoint); err != nil {
				s.log.ErrorContext(ctx, "the witness has stopped", "log", origin, "err", err)
			}
		}
		if !answered {
			wait = recallAgain
		}
	}
	return wait
}

// fetch reads a checkpoint. It follows no redirect.
func fetch(ctx context.Context, transport http.RoundTripper, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, recallTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask a log: %w", err)
	}
	resp, err := NewClient(transport).http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask a log: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRecalled))
	if err != nil {
		return nil, fmt.Errorf("ask a log: %w", err)
	}
	return body, nil
}
