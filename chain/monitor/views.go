package monitor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"tidemark/chain/tlog"
)

// copied is the checkpoint that a witness holds.
type copied struct {
	name   string
	opened *tlog.Opened
}

// askWitnesses reads the copies that the witnesses hold.
func (r *round) askWitnesses() (held []copied) {
	sum := sha256.Sum256([]byte(r.o.Log.Name()))
	path := "/" + hex.EncodeToString(sum[:]) + "/checkpoint"
	for _, w := range r.o.Policy.Witnesses {
		if w.URL == "" {
			continue
		}
		note, err := r.get(r.ctx, trimmed(w.URL)+path, maxNote)
		if errors.Is(err, errMissing) {
			continue // it has cosigned nothing yet, or does not serve its copy
		}
		if err != nil {
			r.find(KindUnavailable, w.Name(), true, "The witness %s cannot be asked: %v.", w.Name(), err)
			continue
		}
		o, err := r.open(note, w.Cosigner)
		if err != nil || len(o.Cosigned) != 1 {
			r.find(KindTampered, w.Name(), false, "What the witness %s serves as its copy of %s is not one: %v.", w.Name(), r.state.Origin, err)
			continue
		}
		held = append(held, copied{w.Name(), o})
	}
	return held
}

// compare holds what witnesses have against the tree.
func (r *round) compare(f *files, o *tlog.Opened, held []copied) error {
	for _, w := range held {
		if w.opened.Size > o.Size {
			r.find(KindSplit, w.name, false, "The witness %s holds size %d of %s, which the log does not serve: it serves %d.", w.name, w.opened.Size, r.state.Origin, o.Size)
			continue
		}
		proof, err := tlog.ProveConsistency(o.Size, o.Root, f, w.opened.Size)
		if err != nil {
			if f.unavailable == nil {
				r.find(KindTampered, "tree", false, "The files of %s are not those of the tree that it signed: %v.", r.state.Origin, err)
			}
			continue
		}
		if tlog.CheckConsistency(proof, o.Size, o.Root, w.opened.Size, w.opened.Root) == nil {
			continue
		}
		text := fmt.Sprintf("The witness %s holds another history of %s at size %d than the log serves", w.name, r.state.Origin, w.opened.Size)
		if err := r.prove(KindSplit, w.name, text, w.opened.Note, o.Note); err != nil {
			return err
		}
	}
	return nil
}

// askWitnessed reads the newest checkpoint that has a quorum, beside the newest one; nil where the log has none. Logs need not have such a file.
func (r *round) askWitnessed(prefix string) *tlog.Opened {
	note, err := r.get(r.ctx, prefix+"/checkpoint.witnessed", maxNote)
	if err != nil {
		return nil
	}
	o, err := r.open(note)
	if err != nil {
		if r.state.Rules.Environment != "" { // another's log may answer anything here
			r.find(KindTampered, "checkpoint.witnessed", false, "What the log %s serves as its witnessed checkpoint is not one: %v.", r.state.Origin, err)
		}
		return nil
	}
	return o
}

// compareWitnessed holds the witnessed checkpoint to the tree: the log signed both.
func (r *round) compareWitnessed(f *files, o, second *tlog.Opened) error {
	if second == nil {
		return nil
	}
	if second.Size > o.Size {
		r.find(KindSplit, "checkpoint.witnessed", false, "The log %s has a witnessed checkpoint of size %d, and its newest one has size %d.", r.state.Origin, second.Size, o.Size)
		return nil
	}
	proof, err := tlog.ProveConsistency(o.Size, o.Root, f, second.Size)
	if err != nil {
		if f.unavailable == nil {
			r.find(KindTampered, "tree", false, "The files of %s are not those of the tree that it signed: %v.", r.state.Origin, err)
		}
		return nil
	}
	if tlog.CheckConsistency(proof, o.Size, o.Root, second.Size, second.Root) == nil {
		return nil
	}
	return r.prove(KindInconsistent, "", fmt.Sprintf("The log %s signed a witnessed checkpoint of size %d, which its size %d does not continue",
		r.state.Origin, second.Size, o.Size), second.Note, o.Note)
}
