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

// Only this file detects transient errors of Redis. internal/postgres/transient.go does the same for Postgres.

// The classes of transient errors, as the metrics name them.
const (
	ClassLoading     = "loading"     // the server reads its data after a start
	ClassReadOnly    = "readonly"    // a write reached a replica: another server has just become the primary
	ClassMoving      = "moving"      // TRYAGAIN: keys of a Cluster are on the way to another node
	ClassDown        = "down"        // CLUSTERDOWN, MASTERDOWN: no primary was chosen yet
	ClassConnections = "connections" // the server, or the pool of this process, has no connection left
	ClassConnection  = "connection"  // the connection to the server is broken, or nothing listens there
	ClassTimeout     = "timeout"     // the server did not answer in time
)

// Transient returns the class of a transient Redis error, and "" for any other error: a rejected password, an invalid command, a full
// memory, or a canceled caller.
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

// counter is called for each transient error; nil means that none is set.
var counter atomic.Pointer[func(class string)]

// CountTo makes f receive each transient error of a command that remains after the client's own retries, for the whole process.
func CountTo(f func(class string)) { counter.Store(&f) }

// countingHook counts the transient errors of commands.
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
