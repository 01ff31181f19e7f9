package simulate

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Cost is the total cost of a run since it began.
type Cost struct {
	// Program is the processor time of this process, Git the time of its git child processes, and Postgres the time of the server's
	// processes. They are zero if the machine does not report them.
	Program, Git, Postgres time.Duration
	// Statements is the number of messages sent to Postgres; a batch counts as one.
	Statements int64
	// Rows is the number of rows that Postgres has read from tables, by its statistics, which lag by some moments.
	Rows int64
	// Picks is the length of the record, Resident the resident memory of this process in bytes.
	Picks    int
	Resident int64
	// Archive is the size of the files of the archive in bytes. Bodies is their number.
	Archive, Bodies int64
}

// spent counts the statements of a run, and the processor time that counting the cost took.
type spent struct {
	statements atomic.Int64
	counting   time.Duration
}

// cost returns the cost so far, without that of earlier calls.
func (r *run) cost(ctx context.Context) (c Cost, err error) {
	began := used(syscall.RUSAGE_SELF)
	defer func() { r.spent.counting += used(syscall.RUSAGE_SELF) - began }()
	if err := r.own.QueryRow(ctx, `select count(*) from picks`).Scan(&c.Picks); err != nil {
		return c, fmt.Errorf("count the picks: %w", err)
	}
	if err := r.own.QueryRow(ctx, `
		select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) from pg_stat_user_tables`).Scan(&c.Rows); err != nil {
		return c, fmt.Errorf("count the rows that were read: %w", err)
	}
	c.Statements = r.spent.statements.Load()
	c.Program, c.Git = began-r.spent.counting, used(syscall.RUSAGE_CHILDREN)
	for _, pid := range r.Server.server.PIDs() {
		c.Postgres += ticks(pid)
	}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			c.Resident = pages * int64(os.Getpagesize())
		}
	}
	if c.Archive, c.Bodies, err = sizeOf(r.archiveDir()); err != nil {
		return c, fmt.Errorf("measure the archive: %w", err)
	}
	return c, nil
}

// sizeOf returns the size of all files below a folder in bytes, and their number.
func sizeOf(dir string) (bytes, files int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		bytes, files = bytes+info.Size(), files+1
		return nil
	})
	return bytes, files, err
}

func used(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ticks returns the processor time of a process and of its ended children. The kernel counts it in hundredths of a second.
func ticks(pid int) (sum time.Duration) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])) // the name may hold spaces and brackets
	for i := 11; i < 15 && i < len(f); i++ {
		n, _ := strconv.ParseInt(f[i], 10, 64)
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}
