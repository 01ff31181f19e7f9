package monitor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

// add checks the next leaf against the rules of the record. It returns the fault of a signed entry, or "" if there is no fault. seen is the
// time at which the monitor sees it. It is zero if the leaf may have been there for long.
func (r *rules) add(index int64, text []byte, seen time.Time) string {
	leaf, err := tlog.ParseLeaf(text)
	if errors.Is(err, tlog.ErrUnknownKind) || err != nil && !strings.HasPrefix(string(text), "tidemark/") {
		r.UnknownLeafKinds++
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if at := leaf.At(); at.After(r.Newest) {
		r.Newest = at
	}
	late := r.dated(leaf)
	if fault := r.hold(index, leaf, seen); fault != "" {
		return fault
	}
	return late
}

// hold holds a leaf to the rules of its kind.
func (r *rules) hold(index int64, leaf tlog.Leaf, seen time.Time) string {
	switch leaf.Kind {
	case tlog.KindGenesis:
		if index != 0 {
			return "a log begins once"
		}
		return r.genesis(leaf)
	case tlog.KindPick:
		return r.pick(index, leaf)
	case tlog.KindGap:
		return r.gap(leaf)
	case tlog.KindCorrection:
		return r.correction(leaf)
	case tlog.KindForecast:
		return r.forecast(leaf, seen)
	case tlog.KindGrade:
		return r.grade(leaf)
	case tlog.KindSeal:
		if fault := r.seal(index, leaf.Get("about")); fault != "" {
			return fault
		}
		return r.openPick(index, leaf, seen)
	case tlog.KindReveal:
		return r.reveal(index, leaf)
	case tlog.KindBody:
		r.body(index, leaf)
	case tlog.KindDataset:
		return r.dataset(leaf)
	}
	return ""
}

// dataset holds a data set to the one before it: a day has one, and it does not change.
func (r *rules) dataset(leaf tlog.Leaf) string {
	day := leaf.Get("date")
	if day == r.Dataset {
		return day + " has two data sets"
	}
	r.Dataset = day
	return ""
}

// maxSeals bounds how many seals are remembered. A log signs as many as it wants to.
const maxSeals = 10_000

// seal checks that a thing is sealed once. When too many seals are known, it forgets the older half: a second seal of those goes unnoticed.
func (r *rules) seal(index int64, about string) string {
	sum := sha256.Sum256([]byte(about)) // a name may be long
	key := hex.EncodeToString(sum[:16])
	if at, ok := r.Seals[key]; ok {
		return fmt.Sprintf("%s is sealed by leaf %d already", about, at)
	}
	if len(r.Seals) >= maxSeals {
		indexes := slices.Sorted(maps.Values(r.Seals))
		oldest := indexes[len(indexes)/2]
		maps.DeleteFunc(r.Seals, func(_ string, at int64) bool { return at < oldest })
	}
	if r.Seals == nil {
		r.Seals = map[string]int64{}
	}
	r.Seals[key] = index
	return ""
}

// next holds the number of a leaf to the one before of its kind.
func next(last *int64, leaf tlog.Leaf) string {
	seq, err := strconv.ParseInt(leaf.Get("seq"), 10, 64)
	if err != nil || seq != *last+1 {
		return fmt.Sprintf("the %s %s follows number %d", leaf.Kind, leaf.Get("seq"), *last)
	}
	*last = seq
	return ""
}

// pick holds a pick's leaf to the chain of picks.
func (r *rules) pick(index int64, leaf tlog.Leaf) string {
	if r.PicksBroken {
		return "" // it was said once
	}
	part := strings.Split(leaf.Get("preimage"), "|")
	seq, err := strconv.ParseInt(leaf.Get("seq"), 10, 64)
	fault := "its preimage is not ticker|price|date|previous_hash"
	if err == nil && len(part) == 4 {
		v := &chain.Verifier{}
		if r.Picks.Length > 0 {
			v, err = chain.Resume(r.Picks)
		}
		if err == nil {
			err = v.Add(chain.Link{Seq: seq, Ticker: part[0], Price: part[1], Date: part[2], PreviousHash: part[3], Hash: leaf.Get("hash")})
		}
		if err == nil {
			r.Picks = v.Checkpoint()
			if fault := r.announced(part[2]); fault != "" {
				return fault
			}
			return r.sealed(index, part[2], leaf.Get("preimage"))
		}
		fault = err.Error()
	}
	r.PicksBroken = true
	return fmt.Sprintf("the pick %s does not continue the chain: %s", leaf.Get("seq"), fault)
}
