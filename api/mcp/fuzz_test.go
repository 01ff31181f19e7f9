package mcp

import (
	"errors"
	"testing"
)

// Any arguments of an agent become values within their bounds, or a userError.
func FuzzArguments(f *testing.F) {
	f.Add(0, []byte(`{"ticker":"NVDA","lang":"es"}`))
	f.Add(1, []byte(`{"limit":1e3,"x":null}`))
	f.Add(2, []byte(`[]`))
	f.Fuzz(func(t *testing.T, n int, raw []byte) {
		list := tools[uint(n)%uint(len(tools))].arguments
		v, err := read(list, raw)
		if err != nil {
			if !errors.As(err, new(userError)) || len(err.Error()) > 16<<10 {
				t.Errorf("%q: %d bytes of %T", raw, len(err.Error()), err)
			}
			return
		}
		for _, a := range list {
			if number, ok := v.numbers[a.name]; ok && (number < a.min || number > a.max) {
				t.Errorf("%q: %s is %d", raw, a.name, number)
			}
			if text := v.texts[a.name]; a.maxLength > 0 && len([]rune(text)) > a.maxLength {
				t.Errorf("%q: %s has %d characters", raw, a.name, len([]rune(text)))
			}
		}
	})
}
