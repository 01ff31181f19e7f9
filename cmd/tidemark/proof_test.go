package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

// proofLog is a log of some leaves with three witnesses, and the policy of a reader who requires two of them.
type proofLog struct {
	t         *testing.T
	key       tlog.SignerKeys
	signer    *tlog.Signer
	witnesses []*tlog.Cosigner
	leaves    [][]byte
	tiles     tileMap
	size      int64
	root      tlog.Hash
}

type tileMap map[tlog.Tile][]byte

func (m tileMap) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		t.Width = 0
		out[i] = bytes.Clone(m[t])
	}
	return out, nil
}

func newProofLog(t *testing.T, origin string, n int) *proofLog {
	t.Helper()
	l := &proofLog{t: t, tiles: tileMap{}, root: tlog.EmptyRoot()}
	var err error
	if l.key, err = tlog.NewLogKey(rand.Reader, origin); err != nil {
		t.Fatal(err)
	}
	if l.signer, err = tlog.NewSigner(l.key.Private); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		keys, err := tlog.NewWitnessKey(rand.Reader, fmt.Sprintf("w%d.example/w", i))
		if err != nil {
			t.Fatal(err)
		}
		w, err := tlog.NewCosigner(keys.Private)
		if err != nil {
			t.Fatal(err)
		}
		l.witnesses = append(l.witnesses, w)
	}
	var hashes []tlog.Hash
	for i := range n {
		leaf, err := tlog.FormatLeaf(tlog.KindMethod, "m", fmt.Sprintf("v%d", i), "tried", strings.Repeat("ab", 32), fmt.Sprintf("reason %d", i), "2026-03-02T22:00:00.000000Z")
		if err != nil {
			t.Fatal(err)
		}
		l.leaves, hashes = append(l.leaves, leaf), append(hashes, tlog.LeafHash(leaf))
	}
	g, err := tlog.Grow(0, l.root, l.tiles, hashes)
	if err != nil {
		t.Fatal(err)
	}
	for _, tile := range g.Tiles {
		at := tile.Tile
		at.Width = 0
		l.tiles[at] = tile.Hashes
	}
	l.size, l.root = g.Size, g.Root
	return l
}

// policy returns the policy of a reader who requires two of the three witnesses.
func (l *proofLog) policy() string {
	text := "log " + l.key.Public + "\n"
	for i, w := range l.witnesses {
		text += fmt.Sprintf("witness w%d %s\n", i, w.VKey())
	}
	return text + "group two 2 w0 w1 w2\nquorum two\n"
}

// proof returns the proof file of a leaf. The first witnesses have cosigned it, each the given time ago.
func (l *proofLog) proof(index int64, ages ...time.Duration) tlog.Proof {
	l.t.Helper()
	note, err := l.signer.Sign(l.size, l.root)
	if err != nil {
		l.t.Fatal(err)
	}
	body := tlog.SignedBody(note)
	for i, age := range ages {
		line, err := l.witnesses[i].Cosign(body, time.Now().Add(-age))
		if err != nil {
			l.t.Fatal(err)
		}
		note = append(note, line...)
	}
	hashes, err := tlog.ProveInclusion(l.size, l.root, l.tiles, index)
	if err != nil {
		l.t.Fatal(err)
	}
	return tlog.Proof{Index: index, Extra: l.leaves[index], Hashes: hashes, Note: note}
}

func TestVerifyProofSaysWhatAProofIsWorth(t *testing.T) {
	t.Parallel()
	log, foreign := newProofLog(t, "log.example/log", 700), newProofLog(t, "foreign.example/log", 700)
	impostor := newProofLog(t, "log.example/log", 700) // the same origin, another key
	const fresh = time.Hour
	good := log.proof(300, fresh, fresh).Format()
	edited := log.proof(300, fresh, fresh)
	edited.Extra = bytes.Replace(edited.Extra, []byte("reason 300"), []byte("reason 301"), 1)
	moved := log.proof(300, fresh, fresh)
	moved.Index = 301
	bare := log.proof(300, fresh, fresh)
	bare.Extra = nil
	// A cosignature of another size proves nothing about this one.
	pasted := log.proof(300, fresh)
	other := newProofLog(t, "log.example/log", 600)
	other.signer, other.witnesses = log.signer, log.witnesses
	lines := bytes.SplitAfter(other.proof(300, fresh, fresh).Note, []byte("\n"))
	pasted.Note = append(pasted.Note, lines[6]...)
	twice := log.proof(300, fresh)
	twice.Note = append(twice.Note, bytes.SplitAfter(twice.Note, []byte("\n"))[5]...)
	for _, tt := range []struct {
		name   string
		file   []byte
		status int
		says   string
	}{
		{"good", good, 0, "Witnessed: "},
		{"good, with all witnesses", log.proof(699, fresh, fresh, fresh).Format(), 0, "Witnessed: "},
		{"the first leaf", log.proof(0, fresh, fresh).Format(), 0, "reason 0"},
		{"a quorum of yesterday", log.proof(300, 25*time.Hour, 25*time.Hour).Format(), 0, "Witnessed: "},
		{"too old a quorum", log.proof(300, 27*time.Hour, 27*time.Hour).Format(), 3, "older than 26 hours"},
		{"one fresh line and one too old", log.proof(300, fresh, 27*time.Hour).Format(), 3, "older than 26 hours"},
		{"a minority", log.proof(300, fresh).Format(), 3, "no quorum"},
		{"no witness", log.proof(300).Format(), 3, "no quorum"},
		{"a witness of the future", log.proof(300, fresh, -time.Hour).Format(), 2, "in the future"},
		{"cut within", good[:len(good)/2], 2, "not checked"},
		{"cut before the last line", good[:bytes.LastIndexByte(good[:len(good)-1], '\n')+1], 3, "no quorum"},
		{"cut by a byte", good[:len(good)-1], 2, "not checked"},
		{"empty", nil, 2, "not checked"},
		{"another leaf", edited.Format(), 2, "not number 300"},
		{"another place", moved.Format(), 2, "not number 301"},
		{"without its leaf", bare.Format(), 2, "does not have the leaf"},
		{"a foreign log", foreign.proof(300, fresh, fresh).Format(), 2, `no log "foreign.example/log"`},
		{"a wrong key", impostor.proof(300, fresh, fresh).Format(), 2, "not checked"},
		{"a line of another size", pasted.Format(), 2, "not checked"},
		{"a line twice", twice.Format(), 2, "signed twice"},
		{"a line of a key with a plus in its name", append(bytes.Clone(good), "— a+b AAAAAAAA\n"...), 2, "not checked"},
		{"a line of a key with a no-break space in its name", append(bytes.Clone(good), "— a\u00a0b AAAAAAAA\n"...), 2, "not checked"},
		{"a line of a key without a name", append(bytes.Clone(good), "—  AAAAAAAA\n"...), 2, "not checked"},
		{"a line of an unknown key", append(bytes.Clone(good), "— stranger AAAAAAAA\n"...), 0, "Witnessed: "},
		{"too long", append(bytes.Clone(good), make([]byte, maxProofFile)...), 2, "longer than a proof"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, policy := filepath.Join(dir, "x.tlog-proof"), filepath.Join(dir, "my.policy")
			for path, text := range map[string][]byte{file: tt.file, policy: []byte(log.policy())} {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			status := run(t.Context(), []string{"verify", "--proof", file, "--policy", policy, "--require", "witnessed"}, &out, &out)
			if status != tt.status || !strings.Contains(out.String(), tt.says) {
				t.Errorf("exit status %d, want %d and %q:\n%s", status, tt.status, tt.says, out.String())
			}
			// A verifier in another language without shared code must have the same result.
			python := exec.CommandContext(t.Context(), "python3", "../../examples/python/verify.py", "--proof", file, "--policy", policy)
			if text, err := python.CombinedOutput(); python.ProcessState == nil {
				t.Logf("examples/python/verify.py was not tried: %v", err)
			} else if code := python.ProcessState.ExitCode(); code != tt.status {
				t.Errorf("examples/python/verify.py ends with %d, want %d: %s", code, tt.status, text)
			}
			if got := strings.Contains(out.String(), "Witnessed: "); got != (tt.status == 0) {
				t.Errorf("it says\n%s", out.String())
			}
		})
	}
}

func TestVerifyProofTakesItsKeysFromTheReaderAlone(t *testing.T) {
	t.Parallel()
	log := newProofLog(t, "log.example/log", 3)
	dir := t.TempDir()
	file, policy := filepath.Join(dir, "x.tlog-proof"), filepath.Join(dir, "my.policy")
	if err := os.WriteFile(file, log.proof(1, time.Hour, time.Hour).Format(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		policy string
		args   []string
		status int
		says   string
	}{
		"no policy":                   {"", []string{"--proof", file}, 2, "--proof needs --policy"},
		"a server beside it":          {log.policy(), []string{"--proof", file, "--policy", policy, "--url", "http://127.0.0.1:1"}, 2, "--url does not go with --proof"},
		"a node beside it":            {log.policy(), []string{"--proof", file, "--policy", policy, "--rpc", "http://127.0.0.1:1"}, 2, "--rpc does not go with --proof"},
		"a checkpoint beside it":      {log.policy(), []string{"--proof", file, "--policy", policy, "--checkpoint", "1:x"}, 2, "--checkpoint does not go with --proof"},
		"a memory beside it":          {log.policy(), []string{"--proof", file, "--policy", policy, "--no-remember"}, 2, "--no-remember does not go with --proof"},
		"a receipt's file beside it":  {log.policy(), []string{"--proof", file, "--policy", policy, "--content", file}, 2, "--content does not go with --proof"},
		"a policy beside a receipt":   {log.policy(), []string{"--receipt", file, "--policy", policy}, 2, "--policy does not go with --receipt"},
		"a time stamp of a server":    {log.policy(), []string{"--url", "http://127.0.0.1:1", "--timestamp-ca", file}, 2, "--timestamp-ca goes with --proof"},
		"no proof":                    {log.policy(), []string{"--policy", policy, "--url", "http://127.0.0.1:1"}, 2, "nothing listens"},
		"a policy of no witness":      {"log " + log.key.Public + "\nquorum none\n", []string{"--proof", file, "--policy", policy}, 0, "Self-consistent"},
		"a policy with other keys":    {newProofLog(t, "log.example/log", 1).policy(), []string{"--proof", file, "--policy", policy}, 2, "not checked"},
		"a file that is not a policy": {"hello\n", []string{"--proof", file, "--policy", policy}, 2, "--policy"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(policy, []byte(tt.policy), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if status := run(t.Context(), append([]string{"verify"}, tt.args...), &out, &out); status != tt.status || !strings.Contains(out.String(), tt.says) {
				t.Errorf("exit status %d, want %d and %q:\n%s", status, tt.status, tt.says, out.String())
			}
		})
	}
}
