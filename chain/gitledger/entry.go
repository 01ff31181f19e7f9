package gitledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/chain"
)

// The files of a ledger. An empty file does not exist.
const (
	picksPath       = "chain/picks.ndjson"
	gapsPath        = "chain/gaps.ndjson"
	correctionsPath = "chain/corrections.ndjson"
	metaPath        = "chain/ledger.json"
	readmePath      = "README.md"
	signersPath     = "allowed_signers"
)

// recordPaths are the files that grow, one line a commit.
var recordPaths = []string{picksPath, gapsPath, correctionsPath}

// Entry is the record of one commit: exactly one of Pick, Gap and Correction is set.
type Entry struct {
	// At is the instant of the announcement, or of the record of a gap or a correction. It becomes the date of the commit, in whole
	// seconds.
	At         time.Time
	Pick       *chain.Link
	Gap        *chain.Gap
	Correction *chain.Correction
}

// pickLine is a line of picks.ndjson. The order of its members is the order in the file.
type pickLine struct {
	Seq          int64  `json:"seq"`
	Ticker       string `json:"ticker"`
	Price        string `json:"price"`
	Date         string `json:"date"`
	PreviousHash string `json:"previous_hash"`
	Hash         string `json:"hash"`
	Preimage     string `json:"preimage"`
}

type gapLine struct {
	Date   string `json:"date"`
	Reason string `json:"reason"`
}

type correctionLine struct {
	Seq      int64  `json:"seq"`
	What     string `json:"what"`
	Evidence string `json:"evidence"`
	Date     string `json:"date"`
}

// meta is ledger.json, the identity of the ledger. It is written once and never changes.
type meta struct {
	Format      int    `json:"format"`
	Environment string `json:"environment"`
	Algorithm   string `json:"algorithm"`
	Rule        string `json:"rule"`
	Genesis     string `json:"genesis"`
}

func newMeta(environment string) meta {
	return meta{Format: 1, Environment: environment, Algorithm: "SHA-256", Rule: chain.Rule, Genesis: chain.Genesis}
}

func (e Entry) check() error {
	set := 0
	var err error
	if e.Pick != nil {
		set, err = set+1, chain.Check(*e.Pick)
	}
	if e.Gap != nil {
		set, err = set+1, e.Gap.Check()
	}
	if e.Correction != nil {
		set, err = set+1, e.Correction.Check()
	}
	switch {
	case set != 1:
		return fmt.Errorf("an entry records one thing, this one %d", set)
	case err != nil:
		return err
	case e.At.Unix() <= 0:
		return fmt.Errorf("the entry %q has no instant", e.subject())
	}
	return nil
}

func (e Entry) path() string {
	switch {
	case e.Pick != nil:
		return picksPath
	case e.Gap != nil:
		return gapsPath
	default:
		return correctionsPath
	}
}

// line is the entry in the form of its file, with its line end.
func (e Entry) line() ([]byte, error) {
	var v any
	switch {
	case e.Pick != nil:
		p := e.Pick
		v = pickLine{p.Seq, p.Ticker, p.Price, p.Date, p.PreviousHash, p.Hash, chain.Preimage(*p)}
	case e.Gap != nil:
		v = gapLine(*e.Gap)
	default:
		v = correctionLine(*e.Correction)
	}
	return jsonLine(v)
}

// jsonLine writes v as one line. Characters that matter only in HTML stay readable.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (e Entry) subject() string {
	switch {
	case e.Pick != nil:
		return fmt.Sprintf("Pick %d: %s at %s on %s", e.Pick.Seq, e.Pick.Ticker, e.Pick.Price, e.Pick.Date)
	case e.Gap != nil:
		return "No pick on " + e.Gap.Date
	case e.Correction != nil:
		return fmt.Sprintf("Correction of pick %d", e.Correction.Seq)
	default:
		return "nothing"
	}
}

// message is the message of the entry's commit.
func (e Entry) message(environment string) string {
	var b strings.Builder
	b.WriteString(e.subject() + "\n\n")
	switch {
	case e.Pick != nil:
		b.WriteString("Hash: " + e.Pick.Hash + "\n")
	case e.Gap != nil:
		b.WriteString("Reason: " + e.Gap.Reason + "\n")
	default:
		b.WriteString("What: " + e.Correction.What + "\nEvidence: " + e.Correction.Evidence + "\n")
	}
	b.WriteString("Environment: " + environment + "\n")
	return b.String()
}

// parsePick reads one line of picks.ndjson. It holds the line to its form and to its own preimage, not to the chain.
func parsePick(line []byte) (chain.Link, error) {
	var p pickLine
	if err := strict(line, &p); err != nil {
		return chain.Link{}, err
	}
	l := chain.Link{Seq: p.Seq, Ticker: p.Ticker, Price: p.Price, Date: p.Date, PreviousHash: p.PreviousHash, Hash: p.Hash}
	if p.Preimage != chain.Preimage(l) {
		return chain.Link{}, fmt.Errorf("pick %d: the preimage %.200q is not made of the pick's own values", p.Seq, p.Preimage)
	}
	return l, nil
}

func parseGap(line []byte) (chain.Gap, error) {
	var g gapLine
	if err := strict(line, &g); err != nil {
		return chain.Gap{}, err
	}
	return chain.Gap(g), chain.Gap(g).Check()
}

func parseCorrection(line []byte) (chain.Correction, error) {
	var c correctionLine
	if err := strict(line, &c); err != nil {
		return chain.Correction{}, err
	}
	return chain.Correction(c), chain.Correction(c).Check()
}

// strict decodes one line and requires that it is written exactly as this package writes it. So two readers cannot see two things in one
// line, for example in a repeated member.
func strict[T any](line []byte, v *T) error {
	if err := json.Unmarshal(line, v); err != nil {
		return err
	}
	again, err := jsonLine(*v)
	if err != nil {
		return err
	}
	if !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), line) {
		return fmt.Errorf("the line %.300q is not written as a ledger writes it", line)
	}
	return nil
}

// lines splits a file into its lines. Every line ends with a line end.
func lines(file []byte) ([][]byte, error) {
	if len(file) == 0 {
		return nil, nil
	}
	rest, ok := bytes.CutSuffix(file, []byte("\n"))
	if !ok {
		return nil, errors.New("the last line has no line end")
	}
	return bytes.Split(rest, []byte("\n")), nil
}
