package api_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/workers"
)

// canaryLog is the transparency log beside the canary.
type canaryLog struct {
	*published

	key        *workers.LogKey
	salt       []byte
	commitment string
}

// keepLog begins the record's log.
func (p *published) keepLog() *canaryLog {
	t := p.t
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.key")
	if err := workers.MakeLogKeys(file, "test.example/log"); err != nil {
		t.Fatal(err)
	}
	keys, err := workers.ReadLogKeys(file, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	l := &canaryLog{published: p, key: keys[slices.IndexFunc(keys, func(k *workers.LogKey) bool { return k.Log == postgres.LogRecord })]}
	if err := p.worker.BeginLog(t.Context(), postgres.LogStart{Log: l.key.Log, Origin: l.key.Origin, VKey: l.key.VKey(), Environment: "demo", PicksEarly: p.early}); err != nil {
		t.Fatal(err)
	}
	l.sequence()
	return l
}

// sequence gives all leaves their numbers, and signs.
func (l *canaryLog) sequence() {
	t := l.t
	t.Helper()
	for {
		n, err := l.worker.NumberLeaves(t.Context(), l.key.Log)
		if err != nil {
			t.Fatal(err)
		}
		_, added, err := l.worker.IntegrateLeaves(t.Context(), l.key.Log, l.key)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 && !added {
			return
		}
	}
}

// cosign stores that a quorum cosigned the newest checkpoint.
func (l *canaryLog) cosign() {
	l.t.Helper()
	c, err := l.worker.NewestLogCheckpoint(l.t.Context(), l.key.Log, false)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.worker.AddLogCosignatures(l.t.Context(), l.key.Log, c.Size, nil, true); err != nil {
		l.t.Fatal(err)
	}
}

// secrets are the salt of the canary's seal and what is sealed, in each form that a leaf or a proof could have them. It signs the seal first.
func (l *canaryLog) secrets() (list []string) {
	t := l.t
	t.Helper()
	l.sequence()
	c, err := pgx.Connect(t.Context(), l.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	if err := c.QueryRow(t.Context(), `select salt, commitment from pick_seals where date = $1`, canaryDay).Scan(&l.salt, &l.commitment); err != nil {
		t.Fatal(err)
	}
	list = append(list, hex.EncodeToString(l.salt), string(l.salt))
	for _, plain := range []string{string(l.salt), hex.EncodeToString(l.salt), canaryTicker + "|" + canaryPrice} {
		for before := range 3 { // base64 of bytes depends on how many stand before them
			e := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + plain))
			list = append(list, e[(before*8+5)/6:(before+len(plain))*8/6])
		}
	}
	return list
}

// addresses are all files of the log.
func (l *canaryLog) addresses() (list []string) {
	l.t.Helper()
	heads, err := l.worker.LogHeads(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	size := heads[slices.IndexFunc(heads, func(h postgres.LogHead) bool { return h.Log == postgres.LogRecord })].Size
	list = []string{"/log/checkpoint", "/log/checkpoint.witnessed"}
	for i := range size {
		list = append(list, fmt.Sprintf("/log/leaf/%d", i), fmt.Sprintf("/log/proof/%d.tlog-proof", i), fmt.Sprintf("/log/proof/newest/%d.tlog-proof", i))
		for _, entries := range []bool{false, true} {
			list = append(list, "/log/"+tlog.Tile{Width: int(i) + 1, Entries: entries}.Path())
		}
	}
	return list
}

// showsCommitment checks that the walk looked at the canary's seal: it is the newest leaf.
func (l *canaryLog) showsCommitment() {
	l.t.Helper()
	list := l.addresses()
	a := l.ask(http.MethodGet, list[len(list)-5])
	if text := string(a.body); !strings.Contains(text, l.commitment) || !strings.Contains(text, "about pick "+canaryDay) {
		l.t.Errorf("the newest leaf is %q, and not the seal of the canary", text)
	}
	if status := l.ask(http.MethodGet, "/log/checkpoint").StatusCode; status != http.StatusOK {
		l.t.Errorf("/log/checkpoint: %d", status)
	}
	text := string(l.ask(http.MethodGet, "/api/v1/verify/picks").body)
	if !strings.Contains(text, l.commitment) {
		l.t.Error("the chain's answer does not name the open seal")
	}
}

// isOpened checks that the announcement opened the seal: the search for its secrets would have found them.
func (l *canaryLog) isOpened(secrets []string) {
	l.t.Helper()
	if found, _ := l.walk(l.addresses(), secrets); len(found) < 10 {
		l.t.Errorf("announced, the log has the secrets at %v only", found)
	}
	if found, _ := l.walk(l.addresses(), []string{hex.EncodeToString(l.salt)}); len(found) == 0 {
		l.t.Error("announced, the log does not have the salt")
	}
}
