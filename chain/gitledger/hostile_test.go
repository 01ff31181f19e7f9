package gitledger_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tidemark/chain/gitledger"
)

// bomb is a pack of some kilobytes with an object of so many bytes: a small one, and orders to copy it again and again.
func bomb(t *testing.T, size int) (name string, pack []byte) {
	t.Helper()
	const part = 1<<24 - 1
	small := make([]byte, 1<<24)
	var p bytes.Buffer
	add := func(kind int, length int, before, content []byte) {
		first := byte(kind<<4 | length&15)
		for length >>= 4; length > 0; length >>= 7 {
			p.WriteByte(first | 0x80)
			first = byte(length & 0x7f)
		}
		p.WriteByte(first)
		p.Write(before)
		z := zlib.NewWriter(&p)
		if _, err := z.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p.WriteString("PACK")
	p.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 2), 2))
	add(3, len(small), nil, small)
	orders := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(small))), uint64(size))
	for left := size; left > 0; left -= part {
		n := min(left, part)
		orders = append(orders, 0xf0, byte(n), byte(n>>8), byte(n>>16))
	}
	id := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(small)), small...))
	add(7, len(orders), id[:], orders)
	sum := sha1.Sum(p.Bytes())
	return "pack-" + hex.EncodeToString(sum[:]) + ".pack", append(p.Bytes(), sum[:]...)
}

// Without a bound, git makes the object in memory: the pack decides how much the verifier's machine needs.
func TestASmallPackTakesNoMemoryWithoutBound(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this system bounds no program's memory")
	}
	dir := worktree(t)
	name, pack := bomb(t, 3<<30)
	if len(pack) > 64<<10 {
		t.Fatalf("the pack has %d bytes", len(pack))
	}
	folder := filepath.Join(dir, ".git", "objects", "pack")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir}); err != nil {
		t.Fatalf("the ledger before: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), pack, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := gitledger.Read(t.Context(), gitledger.Source{Location: dir}); !errors.Is(err, gitledger.ErrDamaged) {
		t.Errorf("a pack of %d bytes with an object of 3 GiB: %v", len(pack), err)
	}
}
