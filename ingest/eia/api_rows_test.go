package eia

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// FuzzRowsOfTheAPI: rows that are read token by token are those that the library reads into structs, and what it refuses is refused.
func FuzzRowsOfTheAPI(f *testing.F) {
	const row = `{"period":"2026-11-20","series":"RWTC","product":{"a":[1,null]},"series-description":"Spot (Dollars per Barrel)","value":"61.3","units":"$/BBL"}`
	for _, s := range []string{
		`[]`, `null`, ` [ ` + row + ` , ` + row + ` ] `, `[{}]`, `[null]`, `[` + row + `,null]`, `[[` + row + `]]`, `{}`, `"rows"`, `1`, ``, `[`, `[` + row,
		`[{"period":null,"series":null,"value":null,"units":null}]`, `[{"period":1}]`, `[{"series":{}}]`, `[{"units":["$/BBL"]}]`, `[{"value":61.30}]`,
		`[{"value":{"a":1,"a":2}}]`, `[{"value":-0.0e1}]`, `[{"period":"a","period":"b"}]`, `[{"x":1,"x":2}]`, `[{"Period":"2026-11-20"}]`,
		`[{"per\u0069od":"2026-11-20","v\u0061lue":"1"}]`, `[{"period":"2026\u002d11-20"},{"period":"2026-11-20"},{"period":"2026\u002d11-20"}]`,
		`[{"period":"a\\"},{"period":"a\\"}]`, "[{\"period\":\"\xff\"}]", "[{\"\xff\":1}]", `[{"period":"\ud800"}]`, `[{"period":"é"},{"period":"é"}]`, `[{"":""}]`,
		`[{"period" "a"}]`, `[{"period":"a",}]`, `[{}{}]`, `[{},]`, `[{"value":01}]`, `[{"units":"a` + "\n" + `"}]`, `[] []`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var want []apiRow
		var got apiRows
		wantErr, err := json.Unmarshal(body, &want), json.Unmarshal(body, &got)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, the library says %v", body, err, wantErr)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(want, []apiRow(got)); diff != "" {
			t.Errorf("%q (-the library +got):\n%s", body, diff)
		}
	})
}
