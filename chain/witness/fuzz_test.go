package witness

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"
)

// Every request has one form: a client that writes the parsed request writes the same bytes.
func FuzzAddCheckpoint(f *testing.F) {
	f.Add([]byte("old 0\n\no\n1\nx\n\n— o x\n"))
	f.Add([]byte("old 5\n" + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n\nnote"))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseAdd(body)
		if err != nil {
			return
		}
		again := fmt.Appendf(nil, "old %d\n", r.old)
		for _, h := range r.proof {
			again = append(base64.StdEncoding.AppendEncode(again, h[:]), '\n')
		}
		if again = append(append(again, '\n'), r.checkpoint...); !bytes.Equal(again, body) {
			t.Errorf("%q is written as %q", body, again)
		}
	})
}
