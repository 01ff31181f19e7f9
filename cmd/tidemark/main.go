// Command tidemark is the whole product in one binary. `tidemark up` runs everything from an empty folder; scheduler, worker and api are
// its three roles as single processes. Only this package imports all others: it reads the settings, builds the parts and connects them.
// Start at run.
package main

import (
	"os"
	_ "time/tzdata" // schedules name time zones, and a small image has none
)

func main() {
	os.Exit(run(interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}
