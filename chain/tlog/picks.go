package tlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// LoggedPicks are the picks among the leaves of a log, in their order.
type LoggedPicks struct {
	// Hashes are the hashes of the chain of picks.
	Hashes []string
	// Fault is the first pick that does not follow the one before it, or whose hash does not match its preimage. It is empty if there is none.
	// Later picks are not read.
	Fault string
}

// Add reads the next leaf. Leaves of other kinds are skipped.
func (l *LoggedPicks) Add(text []byte) {
	if l.Fault != "" || !bytes.HasPrefix(text, []byte(leafPrefix+KindPick+"/v1\n")) {
		return
	}
	leaf, err := ParseLeaf(text)
	if err != nil || leaf.Get("seq") != strconv.Itoa(len(l.Hashes)+1) {
		l.Fault = fmt.Sprintf("after pick %d the log has a pick that does not follow", len(l.Hashes))
		return
	}
	if digest := sha256.Sum256([]byte(leaf.Get("preimage"))); hex.EncodeToString(digest[:]) != leaf.Get("hash") {
		l.Fault = fmt.Sprintf("the hash of pick %d of the log is not the hash of the preimage beside it", len(l.Hashes)+1)
		return
	}
	l.Hashes = append(l.Hashes, leaf.Get("hash"))
}

// TimesOf returns when each witness of the policy cosigned, by its name in the policy.
func (p *Policy) TimesOf(o *Opened) map[string]Cosigned {
	out := map[string]Cosigned{}
	for _, w := range p.Witnesses {
		for _, c := range o.Cosigned {
			if c.VKey == w.VKey() {
				out[w.Label] = c
			}
		}
	}
	return out
}
