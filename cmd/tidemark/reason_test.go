package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestAReasonThatSaysNothingIsRefused(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"schedule pause ingest fred-cpi", "schedule resume ingest fred-cpi", "schedule run ingest fred-cpi", "signals deprecate lng-arbitrage",
		"signals restore lng-arbitrage", "keys revoke key_1", "quarantine accept 1", "quarantine reject 1", "payments resolve 1 failed",
	} {
		for _, blank := range []string{"", "  \t"} {
			var out bytes.Buffer
			code := run(t.Context(), append(strings.Fields(words), "--reason="+blank), &out, &out)
			if code != 2 || !strings.Contains(out.String(), "--reason: it is empty") {
				t.Errorf("%s --reason=%q: exit %d, %s", words, blank, code, out.String())
			}
		}
	}
}
