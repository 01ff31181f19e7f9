package simulate

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Cost is what a run has spent since it began.
type Cost struct {
	// Program is the processor time of this process, Git that of the gits that it started, Postgres that of the server's processes, zero
	// where the machine does not say.
	Program, Git, Postgres time.Duration
	// Statements counts what was sent to Postgres; a batch is one.
	Statements int64
	// Rows is how many rows Postgres has read of tables, as its statistics have it: they are some moments late.
	Rows int64
	// Picks is the length of the record, Resident how much memory this process has, in bytes.
	Picks    int
	Resident int64
}

// spent counts the statements of a run.
type spent struct{ statements atomic.Int64 }

// cost reads what was spent so far.
func (r *run) cost(ctx context.Context) (c Cost, err error) {
	if err := r.own.QueryRow(ctx, `select count(*) from picks`).Scan(&c.Picks); err != nil {
		return c, fmt.Errorf("count the picks: %w", err)
	}
	if err := r.own.QueryRow(ctx, `
		select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) from pg_stat_user_tables`).Scan(&c.Rows); err != nil {
		return c, fmt.Errorf("count the rows that were read: %w", err)
	}
	c.Statements = r.spent.statements.Load()
	c.Program, c.Git = used(syscall.RUSAGE_SELF), used(syscall.RUSAGE_CHILDREN)
	for _, pid := range r.Server.server.PIDs() {
		c.Postgres += ticks(pid)
	}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			c.Resident = pages * int64(os.Getpagesize())
		}
	}
	return c, nil
}

func used(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ticks is the processor time of a process and of the children of it that have ended, of which the kernel counts hundredths of a second.
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
