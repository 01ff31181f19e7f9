package config_test

import (
	"strings"
	"testing"

	"tidemark/internal/config"
)

func TestAnEmptyFolderAndAHistoryBeforeTheCalendarAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*config.Settings)
		want   string
	}{
		"as it is":          {func(*config.Settings) {}, ""},
		"27 years":          {func(s *config.Settings) { s.SandboxDays = 10_000 }, ""},
		"from 1753 on":      {func(s *config.Settings) { s.SandboxDays = 100_000 }, "SANDBOX_DAYS: 100000 is not a number of days from 0 to 10000"},
		"a negative number": {func(s *config.Settings) { s.SandboxDays = -1 }, "SANDBOX_DAYS: -1 is not a number"},
		"no folder":         {func(s *config.Settings) { s.StateDir = "" }, "STATE_DIR: it is empty"},
		"a space":           {func(s *config.Settings) { s.StateDir = " " }, "STATE_DIR: it is empty"},
	} {
		s, err := config.Defaults()
		if err != nil {
			t.Fatal(err)
		}
		c.change(&s)
		err = s.Validate("SANDBOX_DAYS", "STATE_DIR")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
