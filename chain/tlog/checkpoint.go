package tlog

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Checkpoint says that a log has a size and a root.
type Checkpoint struct {
	// Origin names the log. It never changes.
	Origin string
	Size   int64
	Root   Hash
}

// Body is the text that a log signs: three lines.
func (c Checkpoint) Body() string {
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + base64.StdEncoding.EncodeToString(c.Root[:]) + "\n"
}

// ParseBody reads the text of a checkpoint. It refuses extension lines.
func ParseBody(body string) (Checkpoint, error) {
	lines := strings.SplitAfter(body, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return Checkpoint{}, errors.New("a checkpoint has three lines")
	}
	size, err := parseSize(strings.TrimSuffix(lines[1], "\n"))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	root, err := ParseHash(strings.TrimSuffix(lines[2], "\n"))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	c := Checkpoint{Origin: strings.TrimSuffix(lines[0], "\n"), Size: size, Root: root}
	if c.Origin == "" || c.Body() != body || size == 0 && root != EmptyRoot() {
		return Checkpoint{}, errors.New("checkpoint: it is not in its one form")
	}
	return c, nil
}

// Cosigned is a cosignature of a checkpoint.
type Cosigned struct {
	// VKey is the witness's key as the reader knows it.
	VKey string
	// At is when the witness says that it cosigned.
	At time.Time
	// Line is the signature line, with its LF.
	Line string
}

// Opened is a checkpoint whose signatures were checked.
type Opened struct {
	Checkpoint

	// KeyHash is the id of the log's key that signed it.
	KeyHash uint32
	// Cosigned are the good lines of witnesses that the reader knows.
	Cosigned []Cosigned
	// Note is the whole note.
	Note []byte
}

// maxNote bounds a signed checkpoint, in bytes.
const maxNote = 64 << 10

// Open checks a signed checkpoint. The log's key must have signed it, under an origin that is the key's name. Good lines of known witnesses
// are returned; a bad line of a known key, a line that stands twice and bytes that are not in their one form are errors. Lines of
// unknown keys mean nothing.
func Open(signed []byte, log note.Verifier, witnesses ...*Cosigner) (*Opened, error) {
	if len(signed) > maxNote {
		return nil, fmt.Errorf("a signed checkpoint has %d bytes, at most %d are allowed", len(signed), maxNote)
	}
	if err := oneForm(signed); err != nil {
		return nil, err
	}
	known := []note.Verifier{log}
	for _, w := range witnesses {
		known = append(known, w)
	}
	n, err := note.Open(signed, note.VerifierList(known...))
	if err != nil {
		return nil, fmt.Errorf("signed checkpoint: %w", err)
	}
	o := &Opened{Note: signed, KeyHash: log.KeyHash()}
	if o.Checkpoint, err = ParseBody(n.Text); err != nil {
		return nil, err
	}
	if o.Origin != log.Name() {
		return nil, fmt.Errorf("a checkpoint of %q is not one of %q", o.Origin, log.Name())
	}
	byLog := false
	for _, s := range n.Sigs {
		if s.Name == log.Name() && s.Hash == log.KeyHash() {
			byLog = true
			continue
		}
		i := slices.IndexFunc(witnesses, func(w *Cosigner) bool { return w.name == s.Name && w.id == s.Hash })
		if i < 0 {
			continue
		}
		sig, err := decode64(s.Base64)
		if err != nil {
			return nil, fmt.Errorf("signature of %s: %w", s.Name, err)
		}
		o.Cosigned = append(o.Cosigned, Cosigned{
			VKey: witnesses[i].VKey(), At: cosignedAt(sig[4:]), Line: "— " + s.Name + " " + s.Base64 + "\n",
		})
	}
	if !byLog {
		return nil, fmt.Errorf("the checkpoint is not signed by %s", log.Name())
	}
	return o, nil
}

// OpenAny is Open for a log that is known by several keys: one of them must have signed.
func OpenAny[V note.Verifier](signed []byte, logs []V, witnesses ...*Cosigner) (o *Opened, err error) {
	err = errors.New("no key of the log is known")
	for _, log := range logs {
		if o, err = Open(signed, log, witnesses...); err == nil {
			return o, nil
		}
	}
	return nil, err
}

// oneForm refuses signature lines that stand twice or are not canonical, which note.Open takes.
func oneForm(signed []byte) error {
	i := bytes.LastIndex(signed, []byte("\n\n"))
	if i < 0 {
		return errors.New("signed checkpoint: it has no signatures")
	}
	seen := map[string]bool{}
	for text := range strings.SplitSeq(strings.TrimSuffix(string(signed[i+2:]), "\n"), "\n") {
		name, sig, ok := strings.Cut(strings.TrimPrefix(text, "— "), " ")
		raw, err := decode64(sig)
		if !ok || !strings.HasPrefix(text, "— ") || err != nil || len(raw) < 5 {
			return fmt.Errorf("signed checkpoint: the line %q is not a signature", text)
		}
		key := name + "+" + string(raw[:4])
		if seen[key] {
			return fmt.Errorf("signed checkpoint: a key of %s signed twice", name)
		}
		seen[key] = true
	}
	return nil
}

// SignedBody is the text of a signed note without its signatures; empty if it has none.
func SignedBody(signed []byte) string {
	i := bytes.LastIndex(signed, []byte("\n\n"))
	if i < 0 {
		return ""
	}
	return string(signed[:i+1])
}
