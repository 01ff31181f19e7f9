package tlog

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var updateLeaves = flag.Bool("update-leaves", false, "write docs/log-leaves.md anew")

// about says what each kind of leaf is, in the order of the page, and what its lines mean.
var about = []struct{ kind, text string }{
	{KindGenesis, "The first leaf of each log. `chain_length` and `chain_head` are those of the chain of picks when the log began, `sealing_from` the first day whose pick is sealed."},
	{KindSeal, "The commitment to a pick. `method` is the version that made it."},
	{KindReveal, "Opens a seal: `seal` is its number in the log, `content` in base64 what the chain hashes. SHA-256 of `tidemark/seal/v1`, a line feed, the 32 bytes of `salt` and the content is the commitment."},
	{KindPick, "A link of the chain of picks: `hash` is the SHA-256 of `preimage`."},
	{KindGap, "A trading day without a pick."},
	{KindForecast, "A forecast. `value` is the median, `lo` and `hi` bound the central `level`. `hash` is that of the chain of forecasts, which covers figure, period, inputs and all 23 quantiles."},
	{KindGrade, "A grade of a forecast: the print, or `none` if none came; `score` is its own and those of the two naive forecasts."},
	{KindCorrection, "A note on an earlier pick, which itself never changes."},
	{KindMethod, "A version of a method that ran on history."},
	{KindDataset, "A daily data set. `sha256` is that of `/data/DATE/contents.json`, which names each of the `files` with its own hash."},
	{KindSources, "The size and root of the log of sources, in the record. This program reads it and does not write it yet."},
	{KindKey, "Another key of the log. Both sign until `until`."},
	{KindBody, "An archived body, in the log of sources: `url` is the SHA-256 of the address without secrets, `sha256` that of the bytes. `not_modified` is `true` where the publisher answered that it is unchanged."},
}

const leavesHead = `# Leaves of the transparency log

A leaf is UTF-8 text. Its first line is ` + "`tidemark/<kind>/v1`" + `. Then comes each line of its kind, once and in this order: a key, a space, a value. Every line ends with
a line feed, the last one too. A value is not empty and has no control character. A leaf has at most 8,192 bytes. Instants are
` + "`2025-01-06T22:30:00.000000Z`" + `, hashes 64 lower-case hex digits, roots and contents base64 with padding. Another text is not a leaf of that kind, and a
verifier reports it. The hash of a leaf is SHA-256 of a zero byte and the leaf.

Each example is a test vector: ` + "`chain/tlog/testdata/vectors.txt`" + ` has its exact bytes. This page is made of it by
` + "`go test ./chain/tlog -run TestThePageOfLeaves -update-leaves`" + `.
`

// TestThePageOfLeaves makes docs/log-leaves.md from the forms that the program reads and from the vectors, and compares.
func TestThePageOfLeaves(t *testing.T) {
	t.Parallel()
	lines := vectors(t)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "# One leaf of each kind") }) + 1
	texts := map[string]string{}
	for text := range strings.SplitSeq(strings.TrimRight(strings.Join(lines[at:], "\n"), "\n"), "\n\n") {
		leaf, err := ParseLeaf([]byte(text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		texts[leaf.Kind] = text + "\n"
	}
	if len(about) != len(kinds) {
		t.Fatalf("%d kinds are described, the program knows %d", len(about), len(kinds))
	}
	got := leavesHead
	for _, a := range about {
		h := LeafHash([]byte(texts[a.kind]))
		got += fmt.Sprintf("\n## %s\n\n%s\n\n", a.kind, a.text)
		for line := range strings.Lines(texts[a.kind]) {
			got += "    " + line
		}
		got += fmt.Sprintf("\nIts hash: `%x`\n", h[:])
	}
	const page = "../../docs/log-leaves.md"
	if *updateLeaves {
		if err := os.WriteFile(page, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(page); err != nil || string(want) != got {
		t.Errorf("docs/log-leaves.md is not what the program reads (%v); write it with -update-leaves", err)
	}
}
