package tlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Policy is a reader's rule: which logs it knows, which witnesses, and how many of them it takes. It has the form of C2SP's tlog-policy.
type Policy struct {
	Logs      []PolicyLog
	Witnesses []PolicyWitness
	// Text is its source.
	Text   string
	groups map[string]group
	quorum string
}

// PolicyLog is a log that a reader knows.
type PolicyLog struct {
	note.Verifier

	VKey, URL string
}

// PolicyWitness is a witness that a reader knows, under a name of the policy.
type PolicyWitness struct {
	*Cosigner

	Label string
	// URL is the prefix of its add-checkpoint; empty if its cosignatures are only checked.
	URL string
}

type group struct {
	need    int
	members []string
}

// noQuorum is the quorum of a policy that asks for no witness.
const noQuorum = "none"

// ParsePolicy reads a policy.
func ParsePolicy(text []byte) (*Policy, error) {
	p := &Policy{groups: map[string]group{}, Text: string(text)}
	for i, raw := range bytes.Split(text, []byte("\n")) {
		words := strings.FieldsFunc(string(raw), func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := p.line(words); err != nil {
			return nil, fmt.Errorf("policy, line %d: %w", i+1, err)
		}
	}
	if p.quorum == "" {
		return nil, errors.New("policy: it has no quorum line")
	}
	return p, nil
}

func (p *Policy) line(words []string) error {
	args := words[1:]
	for _, c := range strings.Join(words, "") {
		if c < ' ' || c == 0x7f {
			return errors.New("it has a control character")
		}
	}
	switch words[0] {
	case "log":
		if len(args) < 1 || len(args) > 2 {
			return errors.New("log takes a key and perhaps a URL")
		}
		v, err := NewVerifier(args[0])
		if err != nil {
			return err
		}
		if slices.ContainsFunc(p.Logs, func(l PolicyLog) bool { return publicOf(l.VKey) == publicOf(args[0]) }) {
			return errors.New("a key of a log stands twice")
		}
		p.Logs = append(p.Logs, PolicyLog{v, args[0], second(args, 1)})
	case "witness":
		if len(args) < 2 || len(args) > 3 {
			return errors.New("witness takes a name, a key and perhaps a URL")
		}
		c, err := ParseCosigner(args[1])
		if err != nil {
			return err
		}
		if p.defined(args[0]) {
			return fmt.Errorf("the name %s stands twice", args[0])
		}
		if slices.ContainsFunc(p.Witnesses, func(w PolicyWitness) bool { return bytes.Equal(w.public, c.public) }) {
			return errors.New("a key of a witness stands twice")
		}
		p.Witnesses = append(p.Witnesses, PolicyWitness{c, args[0], second(args, 2)})
	case "group":
		return p.group(args)
	case "quorum":
		if len(args) != 1 || p.quorum != "" || args[0] != noQuorum && !p.defined(args[0]) {
			return errors.New("there is one quorum line, with a name that is defined before it")
		}
		p.quorum = args[0]
	default:
		return fmt.Errorf("unknown word %q", words[0])
	}
	return nil
}

func (p *Policy) group(args []string) error {
	if len(args) < 3 {
		return errors.New("group takes a name, a threshold and its members")
	}
	name, members := args[0], args[2:]
	if p.defined(name) {
		return fmt.Errorf("the name %s stands twice", name)
	}
	g := group{members: members}
	switch args[1] {
	case "any":
		g.need = 1
	case "all":
		g.need = len(members)
	default:
		n, err := strconv.Atoi(args[1])
		if err != nil || strconv.Itoa(n) != args[1] || n < 1 || n > len(members) {
			return fmt.Errorf("the threshold %q is not from 1 to %d", args[1], len(members))
		}
		g.need = n
	}
	for i, m := range members {
		if !p.isWitness(m) && !p.isGroup(m) {
			return fmt.Errorf("the member %s is not defined", m)
		}
		taken := slices.Contains(members[:i], m)
		for _, other := range p.groups {
			taken = taken || slices.Contains(other.members, m)
		}
		if taken {
			return fmt.Errorf("%s is a member twice", m)
		}
	}
	p.groups[name] = g
	return nil
}

func (p *Policy) isGroup(name string) bool { _, ok := p.groups[name]; return ok }

func (p *Policy) isWitness(name string) bool {
	return slices.ContainsFunc(p.Witnesses, func(w PolicyWitness) bool { return w.Label == name })
}

func (p *Policy) defined(name string) bool {
	return name == noQuorum || p.isWitness(name) || p.isGroup(name)
}

// Met reports whether the cosignatures are a quorum. A policy of no quorum is met by anything.
func (p *Policy) Met(cosigned []Cosigned) bool {
	if p.quorum == noQuorum {
		return true
	}
	return p.counts(p.quorum, cosigned)
}

// Enough reports whether witnesses, by their names in the policy, are a quorum. An empty list is enough for a policy that asks for no witness.
func (p *Policy) Enough(labels []string) bool {
	var cosigned []Cosigned
	for _, w := range p.Witnesses {
		if slices.Contains(labels, w.Label) {
			cosigned = append(cosigned, Cosigned{VKey: w.VKey()})
		}
	}
	return p.AsksWitnesses() && p.counts(p.quorum, cosigned)
}

func (p *Policy) counts(name string, cosigned []Cosigned) bool {
	if i := slices.IndexFunc(p.Witnesses, func(w PolicyWitness) bool { return w.Label == name }); i >= 0 {
		key := p.Witnesses[i].VKey()
		return slices.ContainsFunc(cosigned, func(c Cosigned) bool { return c.VKey == key })
	}
	g, n := p.groups[name], 0
	for _, m := range g.members {
		if p.counts(m, cosigned) {
			n++
		}
	}
	return g.need > 0 && n >= g.need
}

// AsksWitnesses reports whether the quorum needs any witness.
func (p *Policy) AsksWitnesses() bool { return p.quorum != noQuorum }

// Cosigners are the keys of the witnesses.
func (p *Policy) Cosigners() []*Cosigner {
	out := make([]*Cosigner, len(p.Witnesses))
	for i, w := range p.Witnesses {
		out[i] = w.Cosigner
	}
	return out
}

// Open opens a signed checkpoint of one of the policy's logs.
func (p *Policy) Open(signed []byte) (*Opened, error) {
	origin, _, _ := strings.Cut(string(signed), "\n")
	err := fmt.Errorf("the policy names no log %q", origin)
	for _, l := range p.Logs {
		if l.Name() != origin {
			continue
		}
		var o *Opened
		if o, err = Open(signed, l, p.Cosigners()...); err == nil {
			return o, nil
		}
	}
	return nil, err
}

// publicOf is the key within the text of a public key.
func publicOf(vkey string) string {
	_, rest, _ := strings.Cut(vkey, "+")
	_, public, _ := strings.Cut(rest, "+")
	return public
}

// second is the second word of a line; empty if it is missing.
func second(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}
