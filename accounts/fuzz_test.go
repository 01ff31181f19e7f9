package accounts_test

import (
	"strings"
	"testing"

	"tidemark/accounts"
)

// A text that parses as a key is the whole key, and no error reveals the text.
func FuzzKey(f *testing.F) {
	f.Add("tmk_live_" + "000000000000000000000000000000" + "2C8GjS")
	f.Add("tmk_test_0000000000000000000000000000002C8GjS")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := accounts.ParseKey(text)
		if err == nil && (key.Reveal() != text || key.Test() != strings.HasPrefix(text, "tmk_test_")) {
			t.Errorf("%q is read as another key", text)
		}
		if name, err := accounts.CleanName(text); err == nil {
			if again, err := accounts.CleanName(name); err != nil || again != name || strings.ContainsAny(name, "\r\n\x1b") {
				t.Errorf("%q is the name %q, and then %q, %v", text, name, again, err)
			}
		}
	})
}
