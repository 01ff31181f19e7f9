package eia

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// FuzzRowsOfTheAPI reads rows token by token and into structs by the library. Both give the same rows, or both refuse the input.
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

// BenchmarkRowsOfTheAPI reads the 5,000 rows of a full page token by token, as the parser does, and as the library fills structs. Elapsed time says little
// where other work runs, so it prints processor time, too.
func BenchmarkRowsOfTheAPI(b *testing.B) {
	var page bytes.Buffer
	for i := range apiLength {
		page.WriteByte("[,"[min(i, 1)])
		fmt.Fprintf(&page, `{"period":"2026-11-20","duoarea":"Y35NY","area-name":"NEW YORK CITY","product":"EPMRU","product-name":"Conventional Regular Gasoline",`+
			`"process":"PF4","process-name":"Spot Price FOB","series":"EER_EPMRU_PF4_Y35NY_DPG","series-description":`+
			`"New York Harbor Conventional Gasoline Regular Spot Price FOB (Dollars per Gallon)","value":"%.3f","units":"$/GAL"}`, 1+float64(i)/1000)
	}
	page.WriteByte(']')
	for name, into := range map[string]func() any{"tokens": func() any { return new(apiRows) }, "structs": func() any { return new([]apiRow) }} {
		b.Run(name, func(b *testing.B) {
			begin := processorTime(b)
			for b.Loop() {
				if err := json.Unmarshal(page.Bytes(), into()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime(b)-begin).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
		})
	}
}

// processorTime is how much processor time this process has used, with garbage collection.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
