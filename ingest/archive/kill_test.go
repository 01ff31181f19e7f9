package archive_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAKilledWriterLeavesOnlyWholeBodies runs itself as a second process that writes bodies, and kills that in the act.
func TestAKilledWriterLeavesOnlyWholeBodies(t *testing.T) {
	if flag.NArg() == 1 {
		writeForEver(t, flag.Arg(0))
		return
	}
	t.Parallel()
	dir := t.TempDir()
	for round := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		//nolint:gosec // the test's own binary
		child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestAKilledWriterLeavesOnlyWholeBodies$", "-test.v", dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 5+round && lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "put ") {
				n++
			}
		}
		cancel() // SIGKILL
		_ = child.Wait()
	}

	s := open(t, dir)
	whole := 0
	for name := range files(t, dir) {
		if strings.HasSuffix(name, ".tmp") {
			continue
		}
		digest := strings.TrimSuffix(filepath.Base(name), ".gz")
		if _, err := s.Get(t.Context(), digest); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		whole++
	}
	if whole < 35 { // 5 + 6 + 7 + 8 + 9 were acknowledged
		t.Errorf("%d bodies are there, want at least the 35 that were acknowledged", whole)
	}
}

// writeForEver puts new bodies of some 100 kB and says so, until it is killed.
func writeForEver(t *testing.T, dir string) {
	s := open(t, dir)
	body := make([]byte, 100<<10)
	for {
		for i := range body {
			body[i] = byte(rand.Uint32()) //nolint:gosec // no secret
		}
		digest, err := s.Put(t.Context(), body)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("put", digest)
	}
}
