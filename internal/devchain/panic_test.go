package devchain

import (
	"encoding/json"
	"testing"
)

func TestAPanicInAMethodLeavesTheChainUnlocked(t *testing.T) {
	t.Parallel()
	c := &Chain{}
	func() {
		defer func() { _ = recover() }()
		_, _ = c.locked(func(*Chain, []json.RawMessage) (any, error) { panic("odd") }, nil)
	}()
	if !c.mu.TryLock() {
		t.Error("the chain stays locked")
	}
}
