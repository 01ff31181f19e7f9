package ops_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/internal/ops"
)

// What the doctor says about an installation without a network.
func TestTheDoctorWithoutANetwork(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for n, r := range []struct{ subject, more string }{
		{"edgar", "'due', 2, now() + interval '5 minutes', E'edgar: https://www.sec.gov/a: temporary upstream trouble: no answer: dial tcp: lookup www.sec.gov: no such host" +
			"\\nedgar: https://www.sec.gov/b: temporary upstream trouble: no answer: dial tcp: lookup www.sec.gov: no such host'"},
		{"bls", "'running', 0, null, null"},
		{"eia", "'due', 0, null, null"},
	} {
		s.exec(fmt.Sprintf(`insert into runs (job, subject, slot, trigger, queue, max_attempts, status, failures, next_try_at, error)
			values ('ingest', '%s', now() + interval '%d seconds', 'cron', 'default', 8, %s)`, r.subject, n, r.more))
	}
	var out strings.Builder
	if _, err := ops.RunChecks(t.Context(), ops.StateChecks(s.look(), ops.Limits{}, nil), func(f ops.Finding) error { return ops.Print(&out, f) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ingest edgar has never succeeded (attempt 2): no answer: no host has the name www.sec.gov; the next try is in ",
		"asked for the first time, without a result yet: bls, eia",
		"warn  hosts     no answer from the upstreams of edgar",
		"1 runs due, 0 queued, 1 at work, 1 wait for a later try",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out.String())
		}
	}
}
