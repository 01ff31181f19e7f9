package gitledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Hold runs f while no Ledger of this machine reads or writes the folder: each call of one waits until f returns. A folder on another
// machine is another ledger with its own lock.
func Hold(ctx context.Context, dir string, f func() error) (err error) {
	lock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return f()
}

// lockFile locks the file for this process and the processes that inherit it, and waits until it is free or ctx ends. The kernel releases
// the lock when the last holder ends, however it ends.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the lock %s, which another process holds: %w", path, ctx.Err()), f.Close())
		}
	}
}
