// Command tidemark is the whole product in one binary. `tidemark up` runs everything from an empty folder; scheduler, worker and api are
// its three roles as single processes. Only this package imports all others: it reads the settings, builds the parts and connects them.
// Start at run.
package main

import (
	"os"
	_ "time/tzdata" // schedules name time zones, and a small image has none
)

func main() {
	ctx := interruptible()
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if urgencyOf(ctx).context().Err() != nil {
		select {} // a second signal ends the process with the status of that signal, also where run was faster
	}
	os.Exit(status)
}
