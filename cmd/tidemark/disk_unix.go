//go:build linux || darwin || freebsd

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes returns how many bytes an ordinary user can still write to the disk of a folder.
func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("ask how much room there is at %s: %w", dir, err)
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil //nolint:gosec,unconvert // the types differ between systems; neither is negative
}
