package main

import (
	"context"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"

	"tidemark/internal/devstack"
)

// number is the version in what a program says of itself.
var number = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)+`)

// versions names what is measured with: Go, the cores, and the programs of others that are on this machine. Each peer names its own
// library.
func versions(ctx context.Context) []string {
	out := []string{runtime.Version(), strconv.Itoa(runtime.GOMAXPROCS(0)) + " cores"}
	if server := devstack.PostgresVersion(ctx); server != "" {
		out = append(out, "PostgreSQL "+server)
	}
	nginx, _ := findNginx()
	pgbench, _ := findPgbench()
	for _, p := range []struct{ name, path, flag string }{
		{"psql", "psql", "--version"},
		{"pgbench", pgbench, "--version"},
		{"nginx", nginx, "-v"},
		{"wrk", "wrk", "-v"},
		{"Node", "node", "--version"},
		{"Python", "python3", "--version"},
		{"zstd", "zstd", "--version"},
	} {
		said, _ := exec.CommandContext(ctx, p.path, p.flag).CombinedOutput() //nolint:gosec // wrk says its version and fails
		if found := number.Find(said); found != nil {
			out = append(out, p.name+" "+string(found))
		} else {
			out = append(out, "no "+p.name)
		}
	}
	return out
}
