package monitor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
	"tidemark/chain/witness"
)

// state is a monitor's memory of a log. It is on disk after each round.
type state struct {
	Origin string `json:"origin"`
	// Note is the newest checkpoint that was held to be good, with Size and Root; empty before the first.
	Note []byte    `json:"note"`
	Size int64     `json:"size"`
	Root tlog.Hash `json:"root"`
	// Edge is the right edge of that tree, computed from the leaves.
	Edge tlog.Edge `json:"edge"`
	// GrownAt is when it grew last.
	GrownAt time.Time `json:"grown_at"`
	// Began is the beginning of the memory. Lost reports whether an earlier memory could not be read.
	Began time.Time `json:"began"`
	Lost  bool      `json:"lost"`
	// Next is the old tile that is read again next.
	Next int64 `json:"next_tile"`

	Rules rules `json:"rules"`
	// UnknownAt is when a leaf of an unknown kind came last.
	UnknownAt time.Time `json:"unknown_at"`
	// FiguresUnknownAt is when a forecast of an unknown figure came last.
	FiguresUnknownAt time.Time `json:"figures_unknown_at"`
	// LateAt is when a body came last that the log did not have in time.
	LateAt time.Time `json:"late_at"`
	// Absent are the facts that the log lacks, each with the time when that was seen first.
	Absent map[string]time.Time `json:"absent"`
}

// rules is the state of the leaves so far, as far as the next ones must match it.
type rules struct {
	// Environment and GenesisAt are from entry 0; empty if the log is not one of ours.
	Environment string    `json:"environment"`
	GenesisAt   time.Time `json:"genesis_at"`
	// Picks is the end of the chain of picks.
	Picks     chain.Checkpoint `json:"picks"`
	Forecasts int64            `json:"forecasts"`
	Grades    int64            `json:"grades"`
	// Seals are the indexes of seals by a hash of their subjects, at most maxSeals.
	Seals map[string]int64 `json:"seals"`
	// SealingFrom is the day since which picks are sealed, empty while none is. Open are the seals of picks by their days, at most maxOpen.
	SealingFrom string              `json:"sealing_from"`
	Open        map[string]openSeal `json:"open"`
	// Whole means that the rules know the log from its genesis, which says how many picks there were, and the head of their chain. Begun
	// means that leaves came after the leaves from before the log. Last is the time of the last leaf.
	Whole         bool      `json:"whole,omitempty"`
	GenesisLength int64     `json:"genesis_length,omitempty"`
	GenesisHead   string    `json:"genesis_head,omitempty"`
	Begun         bool      `json:"begun,omitempty"`
	Last          time.Time `json:"last"`
	// Ungraded are the forecasts without a grade, by hashes of their names, at most maxUngraded; Forgot means that there were more. Days are the newest days, true for a pick and false for a gap, at most maxDays.
	Ungraded map[string]ungraded `json:"ungraded,omitempty"`
	Forgot   bool                `json:"forgot,omitempty"`
	Days     map[string]bool     `json:"days,omitempty"`
	// Opened are the sealed picks that were shown and whose seal's witnesses were not asked about, by their days, at most maxOpened.
	Opened map[string]openedSeal `json:"opened,omitempty"`
	// Dataset is the day of the last data set.
	Dataset string `json:"dataset,omitempty"`
	// Seen is when the log's newest checkpoint had no more leaves than were read. Late counts the bodies that were fetched more than a minute
	// before that and came later; LateLeaf names the last of them.
	Seen     time.Time `json:"seen"`
	Late     int64     `json:"late,omitempty"`
	LateLeaf string    `json:"late_leaf,omitempty"`
	// Newest is the latest time of a leaf.
	Newest           time.Time `json:"newest"`
	PicksBroken      bool      `json:"picks_broken"`
	UnknownLeafKinds int64     `json:"unknown"`
	// UnknownFigures counts the forecasts of figures that this program has no schedule of.
	UnknownFigures int64 `json:"unknown_figures,omitempty"`
}

const (
	stateSuffix  = ".json"
	damaged      = ".damaged"
	evidenceDir  = "evidence"
	maxEvidences = 1000
)

// name is the name of a log's files.
func name(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return hex.EncodeToString(sum[:8])
}

// readState reads what is remembered of a log. A file that cannot be read is put aside: the memory is lost, and the monitor says so.
func readState(dir, origin string, now time.Time) (*state, error) {
	path := filepath.Join(dir, name(origin)+stateSuffix)
	s := &state{Origin: origin, Began: now, Root: tlog.EmptyRoot(), GrownAt: now}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		// The evidence of a log outlives its state: then there was one.
		list, err := evidenceOf(dir, origin)
		s.Lost = len(list) > 0
		return s, err
	}
	if err != nil {
		return nil, fmt.Errorf("read the monitor's state: %w", err)
	}
	var read state
	if err := json.Unmarshal(text, &read); err != nil || read.Origin != origin || read.Began.IsZero() || read.Edge.Size != read.Size ||
		len(read.Edge.Hashes) != bits.OnesCount64(uint64(read.Size)) || read.Edge.Root() != read.Root { //nolint:gosec // a sign is a wrong number of hashes
		if err := os.Rename(path, path+damaged); err != nil {
			return nil, fmt.Errorf("put the damaged state aside: %w", err)
		}
		s.Lost = true
		return s, nil
	}
	return &read, nil
}

func (s *state) save(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := witness.WriteFile(filepath.Join(dir, name(s.Origin)+stateSuffix), text); err != nil {
		return fmt.Errorf("keep the monitor's state: %w", err)
	}
	return nil
}

// evidence is a stored contradiction, signed by the log and permanently valid against it.
type evidence struct {
	file, kind, text string
}

// keep stores a contradiction in its own file. One about the same is stored once: the first.
func keep(dir, origin, kind, about, text string, parts ...[]byte) error {
	folder := filepath.Join(dir, evidenceDir)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	body := []byte(kind + "\n" + text + "\n")
	for _, p := range parts {
		body = append(append(body, '\n'), p...)
	}
	sum := sha256.Sum256([]byte(about))
	path := filepath.Join(folder, name(origin)+"-"+kind+"-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	list, err := evidenceOf(dir, origin)
	if err != nil || len(list) >= maxEvidences {
		return err
	}
	if err := witness.WriteFile(path, body); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	return nil
}

// evidenceOf returns the stored evidence against a log, until the operator deletes the file.
func evidenceOf(dir, origin string) (list []evidence, err error) {
	folder := filepath.Join(dir, evidenceDir)
	files, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the evidence: %w", err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), name(origin)+"-") {
			continue
		}
		path := filepath.Join(folder, f.Name())
		body, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the evidence: %w", err)
		}
		lines := strings.SplitN(string(body), "\n", 3)
		if len(lines) == 3 {
			list = append(list, evidence{path, lines[0], lines[1]})
		}
	}
	slices.SortFunc(list, func(a, b evidence) int { return strings.Compare(a.file, b.file) })
	return list, nil
}
