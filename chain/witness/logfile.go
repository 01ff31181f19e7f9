package witness

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"tidemark/chain/tlog"
)

// header begins the file of a log: what the witness knows of it before the last cosigned checkpoint.
type header struct {
	// keys are accepted, and was are keys of earlier checkpoints alone.
	keys, was []string
	// url is the address of the log's files, empty if it is not known.
	url string
}

// The beginnings of the lines of a header. A line without one is an accepted key.
const (
	lineWas = "was "
	lineURL = "url "
)

// neverCosigned ends the file of a log of which nothing was cosigned yet. Without it, a file that was cut after its header would begin again.
const neverCosigned = "never cosigned\n"

// text writes the header. An older program reads one of a single key.
func (h header) text() []byte {
	var b bytes.Buffer
	for _, k := range h.keys {
		b.WriteString(k + "\n")
	}
	for _, k := range h.was {
		b.WriteString(lineWas + k + "\n")
	}
	if h.url != "" {
		b.WriteString(lineURL + h.url + "\n")
	}
	return b.Bytes()
}

// verifiers returns the accepted keys and, with all, the earlier ones.
func (h header) verifiers(all bool) (list []note.Verifier, err error) {
	keys := h.keys
	if all {
		keys = slices.Concat(h.keys, h.was)
	}
	for _, k := range keys {
		v, err := tlog.NewVerifier(k)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// readHeader reads the file of a log: the header, and the rest, which is the last cosigned checkpoint or neverCosigned. The origin has no plus, and
// begins the checkpoint.
func readHeader(text []byte, origin string) (h header, rest []byte, err error) {
	damaged := fmt.Errorf("%w: the file of %s is damaged", ErrState, origin)
	for string(text) != neverCosigned && !bytes.HasPrefix(text, []byte(origin+"\n")) {
		raw, after, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			return h, nil, damaged
		}
		line := string(raw)
		was, isWas := strings.CutPrefix(line, lineWas)
		url, isURL := strings.CutPrefix(line, lineURL)
		switch {
		case isURL:
			h.url = url
		case isWas:
			h.was = append(h.was, was)
		default:
			h.keys = append(h.keys, line)
		}
		text = after
	}
	all, err := h.verifiers(true)
	if err != nil || len(h.keys) == 0 || slices.ContainsFunc(all, func(v note.Verifier) bool { return v.Name() != origin }) {
		return h, nil, damaged
	}
	return h, text, nil
}

// Terms say how a witness comes to know a log, or a further key of a known log.
type Terms struct {
	// Vouched is a checkpoint that a known key of the log and the new one have both signed. Replace takes the new key without that, and the
	// known ones no more. One of them is needed for a further key.
	Vouched []byte
	Replace bool
	// URL is the address of the log's files; empty: as before.
	URL string
}

// Add makes a witness know a log from its beginning, or a further key of a log that it knows. The state stays: a new key continues from the size
// that was cosigned last.
func Add(dir, vkey string, terms Terms) error {
	v, err := tlog.NewVerifier(vkey)
	if err != nil {
		return err
	}
	if strings.ContainsAny(terms.URL, "\n\r") {
		return errors.New("the address of a log is one line")
	}
	origin := v.Name()
	path := filepath.Join(dir, logFile(origin))
	have, err := os.ReadFile(path)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("add a log: %w", err)
	}
	// Every log known before has a line in the key's file: starting it again would cosign a second history.
	key, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return fmt.Errorf("add a log: %w", err)
	}
	line := "log " + origin + "\n"
	known := strings.Contains(string(key), "\n"+line)
	if known && !there {
		return fmt.Errorf("%w: %s was known, and its file is not there", ErrState, origin)
	}
	h := header{keys: []string{vkey}, url: terms.URL}
	if there {
		if err := addKey(dir, path, origin, have, v, vkey, terms); err != nil {
			return err
		}
	} else if err := WriteFile(path, append(h.text(), neverCosigned...)); err != nil { // the file first: a crash between the two leaves a log that can be added again
		return fmt.Errorf("add a log: %w", err)
	}
	if known {
		return nil
	}
	if err := WriteFile(filepath.Join(dir, keyFile), append(key, line...)); err != nil {
		return fmt.Errorf("add a log: %w", err)
	}
	return nil
}

// addKey changes the header of a log that is known. A running witness would lose the change, or its state by it.
func addKey(dir, path, origin string, have []byte, v note.Verifier, vkey string, terms Terms) error {
	h, _, err := readHeader(have, origin)
	if err != nil {
		return err
	}
	if slices.Contains(h.keys, vkey) && !terms.Replace && (terms.URL == "" || terms.URL == h.url) {
		return nil
	}
	held, err := lock(dir)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	if have, err = os.ReadFile(path); err != nil { // it may have been cosigned since
		return fmt.Errorf("add a key of a log: %w", err)
	}
	h, rest, err := readHeader(have, origin)
	if err != nil {
		return err
	}
	switch {
	case terms.Replace:
		for _, k := range h.keys {
			if k != vkey && !slices.Contains(h.was, k) {
				h.was = append(h.was, k)
			}
		}
		h.keys = []string{vkey}
	case !slices.Contains(h.keys, vkey):
		old, err := h.verifiers(false)
		if err != nil {
			return err
		}
		if len(terms.Vouched) == 0 {
			return fmt.Errorf("the log %s is known with another key: give a checkpoint that both keys signed (--vouched), or replace the old key (--replace)", origin)
		}
		if _, err := tlog.OpenAny(terms.Vouched, old); err != nil {
			return fmt.Errorf("no known key of %s vouches for the new one: %w", origin, err)
		}
		if _, err := tlog.Open(terms.Vouched, v); err != nil {
			return fmt.Errorf("the new key of %s has not signed what the old one did: %w", origin, err)
		}
		h.keys = append(h.keys, vkey)
	}
	h.was = slices.DeleteFunc(h.was, func(k string) bool { return slices.Contains(h.keys, k) })
	if terms.URL != "" {
		h.url = terms.URL
	}
	if err := WriteFile(path, slices.Concat(h.text(), rest)); err != nil {
		return fmt.Errorf("add a key of a log: %w", err)
	}
	return nil
}

// readLog reads the file of a log: its keys, and the last cosigned checkpoint, if it ever cosigned.
func readLog(dir, origin string, key *tlog.Cosigner) (*state, error) {
	text, err := os.ReadFile(filepath.Join(dir, logFile(origin)))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrState, origin, err)
	}
	h, last, err := readHeader(text, origin)
	if err != nil {
		return nil, err
	}
	s := &state{header: h, root: tlog.EmptyRoot()}
	if s.accepted, err = h.verifiers(false); err != nil {
		return nil, err
	}
	if s.all, err = h.verifiers(true); err != nil {
		return nil, err
	}
	if string(last) == neverCosigned {
		return s, nil
	}
	o, err := tlog.OpenAny(last, s.all, key)
	if err != nil || len(o.Cosigned) != 1 {
		return nil, fmt.Errorf("%w: the file of %s is damaged", ErrState, origin)
	}
	s.size, s.root, s.at, s.note = o.Size, o.Root, o.Cosigned[0].At, last
	return s, nil
}
