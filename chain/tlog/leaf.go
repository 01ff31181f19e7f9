package tlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The kinds of leaves.
const (
	KindGenesis    = "genesis"
	KindSeal       = "seal"
	KindReveal     = "reveal"
	KindPick       = "pick"
	KindGap        = "gap"
	KindForecast   = "forecast"
	KindGrade      = "grade"
	KindCorrection = "correction"
	KindMethod     = "method"
	KindSources    = "sources"
	KindKey        = "key"
	KindDataset    = "dataset"
	KindBody       = "body"
)

// TimeLayout is how a leaf writes an instant, in UTC.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// leafPrefix begins the first line of every leaf.
const leafPrefix = "tidemark/"

// value says what is wrong with a value of a leaf, empty for nothing.
type value func(string) string

// field is a line of a leaf: its key, and the form of its value.
type field struct {
	key  string
	form value
}

// kinds are the lines of each kind, in their order.
var kinds = map[string][]field{
	KindGenesis: {
		{"origin", line},
		{"environment", oneOf("live", "demo")},
		{"chain_length", number},
		{"chain_head", hexHash},
		{"ledger_commit", line},
		{"sealing_from", line},
		{"at", instant},
	},
	KindSeal:       {{"about", line}, {"commitment", hexHash}, {"method", line}, {"reveal_by", instant}, {"at", instant}},
	KindReveal:     {{"seal", number}, {"about", line}, {"salt", hexHash}, {"content", base64Bytes}, {"at", instant}},
	KindPick:       {{"seq", number}, {"preimage", line}, {"hash", hexHash}, {"at", instant}},
	KindGap:        {{"date", day}, {"reason", line}, {"at", instant}},
	KindCorrection: {{"seq", number}, {"what", line}, {"evidence", line}, {"date", day}, {"at", instant}},
	KindMethod: {
		{"name", line},
		{"version", line},
		{"status", oneOf("tried", "adopted", "dropped")},
		{"sha256", hexHash},
		{"note", line},
		{"at", instant},
	},
	KindSources: {{"size", number}, {"root", base64Hash}, {"at", instant}},
	KindKey:     {{"old", line}, {"new", line}, {"until", instant}, {"at", instant}},
	KindForecast: {
		{"seq", number},
		{"id", line},
		{"release_at", instant},
		{"value", decimal},
		{"lo", decimal},
		{"hi", decimal},
		{"level", decimal},
		{"method", line},
		{"hash", hexHash},
		{"at", instant},
	},
	KindGrade: {
		{"seq", number},
		{"id", line},
		{"published_at", instant},
		{"value", decimalOrNone},
		{"score", line},
		{"hash", hexHash},
		{"at", instant},
	},
	KindDataset: {{"date", day}, {"as_of", instant}, {"sha256", hexHash}, {"files", number}, {"at", instant}},
	KindBody: {
		{"source", line},
		{"url", hexHash},
		{"fetched_at", instant},
		{"sha256", hexHash},
		{"bytes", number},
		{"not_modified", oneOf("true", "false")},
	},
}

// Leaf is a leaf that was read.
type Leaf struct {
	Kind   string
	values map[string]string
}

// Get returns the value of a key, empty where the kind has none of that name.
func (l Leaf) Get(key string) string { return l.values[key] }

// At is when the leaf says that it was made, zero where its kind has no such line.
func (l Leaf) At() time.Time {
	at := l.values["at"]
	if l.Kind == KindBody {
		at = l.values["fetched_at"]
	}
	t, err := time.Parse(TimeLayout, at)
	if err != nil {
		return time.Time{}
	}
	return t
}

// ErrUnknownKind reports that a leaf is of a kind that this program does not know. It must be reported, and is not a fault of the log.
var ErrUnknownKind = errors.New("unknown kind of leaf")

// ParseLeaf reads a leaf and checks the form of each value.
func ParseLeaf(text []byte) (Leaf, error) {
	if len(text) > MaxLeaf {
		return Leaf{}, fmt.Errorf("a leaf has %d bytes, at most %d are allowed", len(text), MaxLeaf)
	}
	first, rest, ok := cutLine(text)
	kind, version, whole := strings.Cut(strings.TrimPrefix(first, leafPrefix), "/")
	if !ok || !whole || !strings.HasPrefix(first, leafPrefix) {
		return Leaf{}, fmt.Errorf("a leaf begins with %q", first)
	}
	fields, known := kinds[kind]
	if !known || version != "v1" {
		return Leaf{}, fmt.Errorf("%w: %q", ErrUnknownKind, first)
	}
	l := Leaf{Kind: kind, values: make(map[string]string, len(fields))}
	for _, f := range fields {
		var text string
		if text, rest, ok = cutLine(rest); !ok {
			return Leaf{}, fmt.Errorf("leaf of kind %s: the line %s is missing", kind, f.key)
		}
		v, ok := strings.CutPrefix(text, f.key+" ")
		if !ok {
			return Leaf{}, fmt.Errorf("leaf of kind %s: the line %s is missing", kind, f.key)
		}
		if fault := faultOf(f, v); fault != "" {
			return Leaf{}, fmt.Errorf("leaf of kind %s: %s %s", kind, f.key, fault)
		}
		l.values[f.key] = v
	}
	if len(rest) > 0 {
		return Leaf{}, fmt.Errorf("leaf of kind %s: bytes follow the last line", kind)
	}
	return l, nil
}

// verified are the kinds of a record, which every verifier holds to the same form. KindBody is of the other log.
var verified = []string{
	KindGenesis, KindSeal, KindReveal, KindPick, KindGap, KindCorrection, KindForecast, KindGrade, KindMethod, KindSources, KindKey, KindDataset,
}

// Kinds returns the kinds of leaves: those of the record, then KindBody.
func Kinds() []string { return append(slices.Clone(verified), KindBody) }

// Keys returns the keys of a leaf's lines, in their order. It returns nil for an unknown kind.
func Keys(kind string) []string {
	var keys []string
	for _, f := range kinds[kind] {
		keys = append(keys, f.key)
	}
	return keys
}

// Misshapen says in a sentence what is wrong with a leaf that states one of these kinds and does not have its form; empty for nothing. A log
// that signed one contradicts its own rules. Kinds of later versions are not among them.
func Misshapen(index int64, text []byte) string {
	for _, kind := range verified {
		if bytes.HasPrefix(text, []byte(leafPrefix+kind+"/v1\n")) {
			if _, err := ParseLeaf(text); err != nil {
				return fmt.Sprintf("Leaf %d of the log is not in its form: %v.", index, err)
			}
		}
	}
	return ""
}

// FormatLeaf writes a leaf. The values are the kind's values, in their order.
func FormatLeaf(kind string, values ...string) ([]byte, error) {
	fields, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownKind, kind)
	}
	if len(values) != len(fields) {
		return nil, fmt.Errorf("a leaf of kind %s has %d values, not %d", kind, len(fields), len(values))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s/v1\n", leafPrefix, kind)
	for i, f := range fields {
		if fault := faultOf(f, values[i]); fault != "" {
			return nil, fmt.Errorf("leaf of kind %s: %s %s", kind, f.key, fault)
		}
		fmt.Fprintf(&b, "%s %s\n", f.key, values[i])
	}
	if b.Len() > MaxLeaf {
		return nil, fmt.Errorf("a leaf of kind %s would have %d bytes, at most %d are allowed", kind, b.Len(), MaxLeaf)
	}
	return b.Bytes(), nil
}

// Commitment is the hash in a seal: SHA-256 of "tidemark/seal/v1", a line feed, the salt and the content, in lower-case hex.
func Commitment(salt, content []byte) string {
	sum := sha256.Sum256(slices.Concat([]byte(leafPrefix+KindSeal+"/v1\n"), salt, content))
	return hex.EncodeToString(sum[:])
}

// Content returns what a reveal shows.
func (l Leaf) Content() ([]byte, bool) {
	content, err := decode64(l.values["content"])
	return content, l.Kind == KindReveal && err == nil
}

// FormatTime writes an instant as leaves have it.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }

func faultOf(f field, v string) string {
	if fault := line(v); fault != "" {
		return fault
	}
	return f.form(v)
}

func line(s string) string {
	if s == "" || !utf8.ValidString(s) {
		return "is empty or not UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return "has a control character"
		}
	}
	return ""
}

func number(s string) string {
	if _, err := parseSize(s); err != nil {
		return "is not a whole number"
	}
	return ""
}

// decimals are finite for every reader: the other verifiers have the same form.
var decimals = regexp.MustCompile(`^-?[0-9]{1,20}(\.[0-9]{1,40})?(e[+-]?[0-9]{1,2})?$`)

func decimal(s string) string {
	if !decimals.MatchString(s) {
		return "is not a decimal"
	}
	return ""
}

// decimalOrNone takes "none" for a figure that did not come.
func decimalOrNone(s string) string {
	if s == "none" {
		return ""
	}
	return decimal(s)
}

func hexHash(s string) string {
	if b, err := hex.DecodeString(s); err != nil || len(b) != len(Hash{}) || hex.EncodeToString(b) != s {
		return "is not 64 lower-case hex digits"
	}
	return ""
}

func base64Hash(s string) string {
	if _, err := ParseHash(s); err != nil {
		return "is not a hash in base64"
	}
	return ""
}

func base64Bytes(s string) string {
	if _, err := decode64(s); err != nil {
		return err.Error()
	}
	return ""
}

func instant(s string) string {
	if t, err := time.Parse(TimeLayout, s); err != nil || FormatTime(t) != s || t.Year() == 0 {
		return "is not an instant such as 2025-01-06T22:30:00.000000Z"
	}
	return ""
}

func day(s string) string {
	if t, err := time.Parse(time.DateOnly, s); err != nil || t.Format(time.DateOnly) != s || t.Year() == 0 {
		return "is not a day such as 2025-01-06"
	}
	return ""
}

func oneOf(words ...string) value {
	return func(s string) string {
		if slices.Contains(words, s) {
			return ""
		}
		return "is none of " + strings.Join(words, ", ")
	}
}
