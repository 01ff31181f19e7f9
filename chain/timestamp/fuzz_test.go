package timestamp_test

import (
	"os"
	"testing"

	"tidemark/chain/timestamp"
)

// FuzzReply gives Check answers of a stranger. What it takes states what the authority signed, and nothing else.
func FuzzReply(f *testing.F) {
	good, err := os.ReadFile("testdata/reply.tsr")
	if err != nil {
		f.Fatal(err)
	}
	roots, err := timestamp.ReadRoots("testdata/root.pem")
	if err != nil {
		f.Fatal(err)
	}
	want, err := timestamp.Check(good, []byte(checkpoint), roots)
	if err != nil {
		f.Fatal(err)
	}
	for n := range len(good) / 16 {
		f.Add(good[:16*n])
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, answer []byte) {
		s, err := timestamp.Check(answer, []byte(checkpoint), roots)
		if err == nil && (!s.At.Equal(want.At) || s.Authority != want.Authority) {
			t.Errorf("%+v, and the authority signed %+v", s, want)
		}
	})
}
