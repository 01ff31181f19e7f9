// Command tidemark is the whole product in one binary. `tidemark up` runs everything from an empty folder; scheduler, worker and api are
// its three roles as single processes. Only this package imports all others: it reads the settings, builds the parts and connects them.
// Start at run.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and a small image has none
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
