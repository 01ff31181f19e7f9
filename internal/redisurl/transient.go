package redisurl

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// Errors of Redis that pass by themselves are told apart in this file alone, as those of Postgres are in internal/postgres/transient.go.

// The classes of transient errors, as the metrics name them.
const (
	ClassLoading     = "loading"     // the server reads its data after a start
	ClassReadOnly    = "readonly"    // a replica was asked to write: another server has just become the primary
	ClassMoving      = "moving"      // TRYAGAIN: keys of a Cluster are on the way to another node
	ClassDown        = "down"        // CLUSTERDOWN, MASTERDOWN: no primary was chosen yet
	ClassConnections = "connections" // the server, or the pool of this process, has no connection left
	ClassConnection  = "connection"  // the way to the server is broken, or nothing listens there
	ClassTimeout     = "timeout"     // the server did not answer in time
)

// Transient returns the class of an error of Redis that passes by itself, and "" for any other error: a refused password, a command that is
// wrong, a full memory, or a caller that gave up.
func Transient(err error) (class string) {
	switch {
	case err == nil || errors.Is(err, redis.Nil) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return ""
	case redis.IsLoadingError(err):
		return ClassLoading
	case redis.IsReadOnlyError(err):
		return ClassReadOnly
	case redis.IsTryAgainError(err):
		return ClassMoving
	case redis.IsClusterDownError(err) || redis.IsMasterDownError(err) || redis.IsNoReplicasError(err):
		return ClassDown
	case redis.IsMaxClientsError(err) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrPoolTimeout):
		return ClassConnections
	}
	ne, network := errors.AsType[net.Error](err)
	switch {
	case network && ne.Timeout() || errors.Is(err, os.ErrDeadlineExceeded):
		return ClassTimeout
	case network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		return ClassConnection
	}
	return ""
}

// counter is told of transient errors; nil: nobody is.
var counter atomic.Pointer[func(class string)]

// CountTo tells f of each transient error that a command of any client met after the client's own tries, for the whole process.
func CountTo(f func(class string)) { counter.Store(&f) }

// countingHook counts what commands met.
type countingHook struct{}

func count(err error) error {
	if f := counter.Load(); f != nil {
		if class := Transient(err); class != "" {
			(*f)(class)
		}
	}
	return err
}

func (countingHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (countingHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return count(next(ctx, cmd)) }
}

func (countingHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return count(next(ctx, cmds)) }
}
