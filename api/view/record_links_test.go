package view

import (
	"encoding/json"
	"strings"
	"testing"
)

// A stored value that was tampered with may hold any text. The answer stays JSON, and says it as it is.
func TestALinkIsJSONWhateverItHolds(t *testing.T) {
	t.Parallel()
	names := []string{"ticker", "price", "date", "previous_hash", "hash"}
	for _, name := range append(names, "") {
		for _, text := range []string{`"`, `\`, "a\nb", "\x00", "\x7f", "é", "<b>", ""} {
			values := map[string]string{"ticker": "NVDA", "price": "1.50", "date": "2026-01-02", "previous_hash": strings.Repeat("a", 64), "hash": strings.Repeat("b", 64)}
			if name != "" {
				values[name] = text
			}
			l := newLink(7, []byte(values["ticker"]), []byte(values["price"]), []byte(values["date"]), []byte(values["previous_hash"]), []byte(values["hash"]))
			got := map[string]any{}
			answer := appendLinkJSON(nil, &l, `a "state"`)
			if err := json.Unmarshal(answer, &got); err != nil {
				t.Errorf("%s is %q: %v: %s", name, text, err, answer)
				continue
			}
			values["preimage"] = strings.Join([]string{values["ticker"], values["price"], values["date"], values["previous_hash"]}, "|")
			values["attestation_status"] = `a "state"`
			for member, want := range values {
				if got[member] != want {
					t.Errorf("%s is %q: the answer has the %s %q", name, text, member, got[member])
				}
			}
		}
	}
}
