package tlog_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	xtlog "golang.org/x/mod/sumdb/tlog"

	"tidemark/chain/tlog"
)

// foreign checks a .tlog-proof as a client does that shares no code with this package: the signed note by golang.org/x/mod/sumdb/note, the
// inclusion by golang.org/x/mod/sumdb/tlog. It returns the leaf.
func foreign(file []byte, vkey string) ([]byte, error) {
	head, signed, ok := bytes.Cut(file, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if !ok || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return nil, fmt.Errorf("it begins with %q", lines[0])
	}
	extra, ok := strings.CutPrefix(lines[1], "extra ")
	if !ok {
		return nil, fmt.Errorf("the second line is %q", lines[1])
	}
	leaf, err := base64.StdEncoding.DecodeString(extra)
	if err != nil {
		return nil, err
	}
	number, _ := strings.CutPrefix(lines[2], "index ")
	index, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil, err
	}
	var proof xtlog.RecordProof
	for _, l := range lines[3:] {
		h, err := xtlog.ParseHash(l)
		if err != nil {
			return nil, err
		}
		proof = append(proof, h)
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return nil, err
	}
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return nil, err
	}
	body := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(body[1], 10, 64)
	if err != nil {
		return nil, err
	}
	root, err := xtlog.ParseHash(body[2])
	if err != nil {
		return nil, err
	}
	return leaf, xtlog.CheckRecord(proof, size, root, index, xtlog.RecordHash(leaf))
}

// The tree of the test is made by x/mod, the file by this package.
func TestAnotherClientReadsOurProofs(t *testing.T) {
	t.Parallel()
	keys, err := tlog.NewLogKey(rand.Reader, "log.example/tidemark")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := tlog.NewSigner(keys.Private)
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(i int64) []byte {
		return fmt.Appendf(nil, "tidemark/gap/v1\ndate 2026-01-02\nreason %d\nat 2026-01-02T23:00:00.000000Z\n", i)
	}
	const size = 3000
	var hashes []xtlog.Hash
	reader := xtlog.HashReaderFunc(func(indexes []int64) (list []xtlog.Hash, err error) {
		for _, i := range indexes {
			list = append(list, hashes[i])
		}
		return list, nil
	})
	for i := range int64(size) {
		more, err := xtlog.StoredHashes(i, leaf(i), reader)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, more...)
	}
	root, err := xtlog.TreeHash(size, reader)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(size, tlog.Hash(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []int64{0, 1, 255, 256, 2047, 2048, size - 1} {
		path, err := xtlog.ProveRecord(size, index, reader)
		if err != nil {
			t.Fatal(err)
		}
		p := tlog.Proof{Index: index, Extra: leaf(index), Note: signed}
		for _, h := range path {
			p.Hashes = append(p.Hashes, tlog.Hash(h))
		}
		file := p.Format()
		got, err := foreign(file, keys.Public)
		if err != nil || !bytes.Equal(got, leaf(index)) {
			t.Errorf("leaf %d: %q, %v\n%s", index, got, err, file)
		}
		p.Extra = leaf(index + 1)
		if _, err := foreign(p.Format(), keys.Public); err == nil {
			t.Errorf("the proof of leaf %d holds for another leaf", index)
		}
	}
}
