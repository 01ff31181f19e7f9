package picks

import (
	"regexp"
	"testing"
)

func TestTheMethodHasAVersionOfItsCode(t *testing.T) {
	t.Parallel()
	if h := SourceHash(); !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(h) || h != SourceHash() {
		t.Errorf("the version is %q", h)
	}
}
