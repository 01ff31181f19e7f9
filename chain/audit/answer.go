package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tidemark/chain"
)

// answer is the part of a server's response around the picks: all its claims about itself and its witnesses. A pointer is nil if the
// response has null.
type answer struct {
	Valid        bool
	Length       int64
	Algorithm    string
	Rule         string
	Encoding     string
	Genesis      string
	Head         *string
	HeadDate     *string
	VerifiedAt   string
	FirstInvalid *int64
	Environment  string

	Git         published
	Attestation attesting
	Checks      map[string]string
	Gaps        list[chain.Gap]
	Corrections list[chain.Correction]
	// Seals are from servers that seal their picks.
	Seals saidSeals
}

// published is where the server says that its ledger is.
type published struct {
	Repository *string `json:"repository"`
	Branch     *string `json:"branch"`
	Commit     *string `json:"commit"`
}

// attesting is where the server says that its attestations are.
type attesting struct {
	Network    *string `json:"network"`
	Contract   *string `json:"contract"`
	SchemaUID  *string `json:"schema_uid"`
	Attester   *string `json:"attester"`
	StartBlock *uint64 `json:"start_block"`
	RPC        *string `json:"rpc_url"`
	Latest     *latest `json:"latest"`
}

// latest is the newest attestation that the server knows.
type latest struct {
	Length int64   `json:"seq"`
	UID    *string `json:"uid"`
	TxHash *string `json:"tx_hash"`
	Block  *uint64 `json:"block_number"`
	Status string  `json:"status"`
}

// list is an array whose elements are read as strictly as picks are.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*l = make(list[T], len(raw))
	for i, r := range raw {
		var err error
		switch to := any(&(*l)[i]).(type) {
		case *chain.Gap:
			err = readGap(r, to)
		case *chain.Correction:
			err = readCorrection(r, to)
		}
		if err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return nil
}

func readGap(object []byte, g *chain.Gap) error {
	err := members(object, func(name, v []byte) (err error) {
		switch string(name) {
		case "date":
			g.Date, err = text(name, v)
		case "reason":
			g.Reason, err = text(name, v)
		}
		return err
	})
	return errors.Join(err, g.Check())
}

func readCorrection(object []byte, c *chain.Correction) error {
	err := members(object, func(name, v []byte) (err error) {
		switch string(name) {
		case "seq":
			c.Seq, err = number(name, v)
		case "what":
			c.What, err = text(name, v)
		case "evidence":
			c.Evidence, err = text(name, v)
		case "date":
			c.Date, err = text(name, v)
		}
		return err
	})
	return errors.Join(err, c.Check())
}

// pick is one element of an answer's picks.
type pick struct {
	chain.Link
	preimage, attestation string
}

func readPick(object []byte) (p pick, err error) {
	err = members(object, func(name, v []byte) (err error) {
		switch string(name) {
		case "seq":
			p.Seq, err = number(name, v)
		case "ticker":
			p.Ticker, err = text(name, v)
		case "price":
			p.Price, err = text(name, v)
		case "date":
			p.Date, err = text(name, v)
		case "previous_hash":
			p.PreviousHash, err = text(name, v)
		case "hash":
			p.Hash, err = text(name, v)
		case "preimage":
			p.preimage, err = text(name, v)
		case "attestation_status":
			p.attestation, err = text(name, v)
		}
		return err
	})
	return p, err
}

// The longest values of an answer, in bytes. A server that sends more is cut off.
const (
	maxPick   = 64 << 10
	maxMember = 4 << 20
)

// meter lets a bounded number of bytes through until it is granted more, so that a value without an end is an error and not a full
// memory.
type meter struct {
	r    io.Reader
	left int
}

var errTooLong = errors.New("a value of the answer is longer than any that belongs there")

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errTooLong
	}
	n, err := m.r.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// readAnswer reads a response of /api/v1/verify/picks as it arrives. It calls each for every pick, in order, and keeps none of them. An
// error of each ends it and is returned wrapped. If the connection broke, the missing end is an error that is io.ErrUnexpectedEOF, or one
// of the reader.
func readAnswer(r io.Reader, each func(pick) error) (*answer, error) {
	m := &meter{r: r, left: maxMember}
	d := json.NewDecoder(m)
	if err := delimiter(d, '{'); err != nil {
		return nil, err
	}
	a := &answer{}
	into := a.members()
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if seen[name] {
			return nil, fmt.Errorf("it has the member %.80q twice", name)
		}
		if len(seen) == maxMembers {
			return nil, fmt.Errorf("it has more than %d members", maxMembers)
		}
		seen[name] = true
		if name == "picks" {
			err = readPicks(d, m, each)
		} else {
			var raw json.RawMessage
			if err = d.Decode(&raw); err == nil && into[name] != nil {
				err = json.Unmarshal(raw, into[name])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("member %.80q: %w", name, err)
		}
		m.left = maxMember
	}
	if err := delimiter(d, '}'); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the answer")
	}
	for name := range into {
		if !seen[name] && name != "seals" {
			return nil, fmt.Errorf("it has no member %q", name)
		}
	}
	if !seen["picks"] {
		return nil, errors.New(`it has no member "picks"`)
	}
	return a, nil
}

// members are the places of the members by their names.
func (a *answer) members() map[string]any {
	return map[string]any{
		"valid": &a.Valid, "chain_length": &a.Length, "algorithm": &a.Algorithm, "hash_rule": &a.Rule, "encoding": &a.Encoding,
		"genesis_hash": &a.Genesis, "head_hash": &a.Head, "head_date": &a.HeadDate, "verified_at": &a.VerifiedAt,
		"first_invalid_seq": &a.FirstInvalid, "environment": &a.Environment, "git": &a.Git, "attestation": &a.Attestation,
		"checks": &a.Checks, "gaps": &a.Gaps, "corrections": &a.Corrections, "seals": &a.Seals,
	}
}

func readPicks(d *json.Decoder, m *meter, each func(pick) error) error {
	if err := delimiter(d, '['); err != nil {
		return err
	}
	var raw json.RawMessage
	m.left = maxPick
	for n := 1; d.More(); n++ {
		m.left = maxPick
		raw = raw[:0]
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
		p, err := readPick(raw)
		if err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
		if err := each(p); err != nil {
			return err
		}
	}
	m.left = maxMember
	return delimiter(d, ']')
}

func delimiter(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("it is not an answer of a record: it has %.80q, want %v", fmt.Sprint(t), want)
	}
	return nil
}
