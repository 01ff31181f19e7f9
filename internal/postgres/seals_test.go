package postgres_test

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/tlog"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// sealing is a record with a log.
type sealing struct {
	*record

	s *testSigner
}

func newSealing(t *testing.T, day string) *sealing {
	t.Helper()
	r := newRecord(t, day)
	s := newTestSigner(t, "test.example/log")
	s.begin(t, r.db, postgres.LogRecord)
	return &sealing{r, s}
}

func (s *sealing) sequence() {
	s.t.Helper()
	if err := sequence(s.t.Context(), s.db, postgres.LogRecord, s.s); err != nil {
		s.t.Fatal(err)
	}
}

// leaves returns the leaves of a signed size, and checks the log.
func (s *sealing) leaves() (list []tlog.Leaf) {
	s.t.Helper()
	whole(s.t, s.db, s.url, postgres.LogRecord)
	texts, err := s.db.LogLeaves(s.t.Context(), postgres.LogRecord, 0, 1<<40)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, text := range texts {
		l, err := tlog.ParseLeaf(text)
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// opened checks that each pick has one seal, then one reveal that opens it, and that both are of the pick.
func opened(t *testing.T, leaves []tlog.Leaf, picks int) {
	t.Helper()
	seals, reveals := map[string]int{}, map[string]int{}
	n := 0
	for i, l := range leaves {
		switch l.Kind {
		case tlog.KindSeal:
			if _, twice := seals[l.Get("about")]; twice {
				t.Errorf("%s is sealed twice", l.Get("about"))
			}
			seals[l.Get("about")] = i
		case tlog.KindReveal:
			if _, twice := reveals[l.Get("about")]; twice {
				t.Errorf("%s is revealed twice", l.Get("about"))
			}
			reveals[l.Get("about")] = i
			at, ok := seals[l.Get("about")]
			content, _ := l.Content()
			salt, _ := hex.DecodeString(l.Get("salt"))
			if !ok || l.Get("seal") != strconv.Itoa(at) || tlog.Commitment(salt, content) != leaves[at].Get("commitment") {
				t.Errorf("the reveal %d of %s opens no seal", i, l.Get("about"))
			}
		case tlog.KindPick:
			n++
			day := strings.Split(l.Get("preimage"), "|")[2]
			if at, ok := seals["pick "+day]; !ok || at > i {
				t.Errorf("the pick of %s is not sealed before it", day)
			}
		}
	}
	for i, l := range leaves {
		if l.Kind == tlog.KindPick {
			at, ok := reveals["pick "+strings.Split(l.Get("preimage"), "|")[2]]
			if !ok {
				t.Errorf("the pick %d is not revealed", i)
				continue
			}
			if content, _ := leaves[at].Content(); string(content) != l.Get("preimage") {
				t.Errorf("the reveal shows %s, the pick is %s", content, l.Get("preimage"))
			}
		}
	}
	if n != picks || len(seals) != picks || len(reveals) != picks {
		t.Errorf("%d picks, %d seals, %d reveals, want %d of each", n, len(seals), len(reveals), picks)
	}
}

func kindsOf(leaves []tlog.Leaf) (list []string) {
	for _, l := range leaves {
		list = append(list, l.Kind)
	}
	return list
}

// A seal says who made the pick, before anybody sees it: the version of the method, or an editor.
func TestTheSealOfAnEditorsPickNamesNoMethod(t *testing.T) {
	t.Parallel()
	s := newSealing(t, "2026-03-02")
	version := strings.Repeat("ab", 32)
	if _, err := s.db.RecordMethod(t.Context(), postgres.Method{Name: "picks", Version: version[:12], SHA256: version, Status: postgres.MethodAdopted, Note: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, made := range [][2]string{{"2026-03-02", "method"}, {"2026-03-03", "editor"}} {
		pick := newPick("MSFT", "1.00", made[0])
		pick.Origin = made[1]
		s.clock(made[0], 17*time.Hour+30*time.Minute)
		if _, added, err := s.db.AppendPick(t.Context(), task.Fence{}, pick); err != nil || !added {
			t.Fatal(added, err)
		}
	}
	s.sequence()
	got := map[string]string{}
	for _, l := range s.leaves() {
		if l.Kind == tlog.KindSeal {
			got[l.Get("about")] = l.Get("method")
		}
	}
	if want := map[string]string{"pick 2026-03-02": "picks/" + version[:12], "pick 2026-03-03": "editor"}; !maps.Equal(got, want) {
		t.Errorf("the seals name %v, want %v", got, want)
	}
}

func TestAPickIsSealedInItsTransactionAndRevealedWithItsAnnouncement(t *testing.T) {
	t.Parallel()
	s := newSealing(t, "2026-03-02")
	s.append("AAPL", "451.10", "2026-03-02")
	s.sequence()
	leaves := s.leaves()
	if got := kindsOf(leaves); !slices.Equal(got, []string{"genesis", "seal"}) {
		t.Fatalf("leaves %v", got)
	}
	if got, want := leaves[1].Get("reveal_by"), tlog.FormatTime(calendar.At(date(t, "2026-03-02"), 18*time.Hour+10*time.Minute)); got != want {
		t.Errorf("to be revealed by %s, want %s", got, want)
	}
	if got := leaves[0].Get("sealing_from"); got != "2026-03-03" {
		t.Errorf("sealing from %s: a pick of the first day may be there without a seal", got)
	}
	seals, err := s.db.Seals(t.Context())
	if err != nil || len(seals) != 1 || seals[0].Index != 1 || seals[0].RevealIndex != nil || seals[0].RevealedAt != nil || seals[0].WitnessedAt != nil {
		t.Errorf("seals %+v, %v", seals, err)
	}
	for range 2 { // another attempt of the same day adds nothing
		if _, added, err := s.db.AppendPick(t.Context(), task.Fence{}, newPick("MSFT", "1.00", "2026-03-02")); err != nil || added {
			t.Fatal(added, err)
		}
	}
	s.announce("2026-03-02")
	if again := s.announce("2026-03-02"); len(again) > 0 {
		t.Errorf("announced again: %v", again)
	}
	s.sequence()
	leaves = s.leaves()
	if got := kindsOf(leaves); !slices.Equal(got, []string{"genesis", "seal", "reveal", "pick"}) {
		t.Fatalf("leaves %v", got)
	}
	opened(t, leaves, 1)
	if seals, err = s.db.Seals(t.Context()); err != nil || seals[0].RevealIndex == nil || *seals[0].RevealIndex != 2 || seals[0].RevealedAt == nil {
		t.Errorf("seals %+v, %v", seals, err)
	}
	for _, sql := range []string{
		`update pick_seals set salt = sha256('x')`, `update pick_seals set idx = 7`, `update pick_seals set revealed_at = now()`,
		`update pick_seals set commitment = repeat('a', 64)`, `delete from pick_seals`, `truncate pick_seals cascade`,
	} {
		for _, role := range []string{"", postgres.RoleWorker, postgres.RoleAPI} {
			if err := exec(t, s.url, role, sql); err == nil {
				t.Errorf("%q as %q is taken", sql, role)
			}
		}
	}
}

// While the sequencer is away a pick is announced all the same. Its reveal follows when the seal has a number.
func TestAPickAnnouncedBeforeItsSealHasANumberIsRevealedOnce(t *testing.T) {
	t.Parallel()
	s := newSealing(t, "2026-03-02")
	s.append("AAPL", "451.10", "2026-03-02")
	s.announce("2026-03-02")
	s.sequence()
	leaves := s.leaves()
	if got := kindsOf(leaves); !slices.Equal(got, []string{"genesis", "seal", "pick", "reveal"}) {
		t.Fatalf("leaves %v", got)
	}
	opened(t, leaves, 1)
}

func TestAPickOfADayWithoutALogHasNoSeal(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	r.append("AAPL", "451.10", "2026-03-02")
	s := &sealing{r, newTestSigner(t, "test.example/log")}
	s.s.begin(t, r.db, postgres.LogRecord)
	s.announce("2026-03-02")
	s.clock("2026-03-03", 17*time.Hour+30*time.Minute)
	s.append("MSFT", "423.35", "2026-03-03")
	s.announce("2026-03-03")
	s.sequence()
	if got := kindsOf(s.leaves()); !slices.Equal(got, []string{"genesis", "pick", "seal", "pick", "reveal"}) {
		t.Errorf("leaves %v", got)
	}
}

// Recording, announcing and numbering run in several processes at once.
func TestSealsAndRevealsOfProcessesAtOnceAreOneEach(t *testing.T) {
	t.Parallel()
	s := newSealing(t, "2026-03-02")
	const days = 25
	for n := range days {
		day := date(t, "2026-03-02").AddDate(0, 0, n).Format(time.DateOnly)
		s.clock(day, 17*time.Hour+30*time.Minute)
		var wg sync.WaitGroup
		work := func(times int, do func() error) {
			wg.Go(func() {
				for range times {
					if err := do(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for _, ticker := range []string{"AAPL", "MSFT"} {
			work(1, func() error {
				_, _, err := s.db.AppendPick(t.Context(), task.Fence{}, newPick(ticker, "1.00", day))
				return err
			})
		}
		sequencer := func() error { return sequence(t.Context(), s.db, postgres.LogRecord, s.s) }
		if n%2 == 0 {
			work(2, sequencer)
		}
		wg.Wait()
		s.clock(day, 18*time.Hour)
		for range 2 {
			work(1, func() error {
				_, err := s.db.AnnounceDue(t.Context(), task.Fence{}, calendar.At(date(t, day), 18*time.Hour))
				return err
			})
			work(3, sequencer)
		}
		wg.Wait()
	}
	s.sequence()
	opened(t, s.leaves(), days)
	if s.s.forked != nil {
		t.Error(s.s.forked)
	}
}

// A process that dies at any write, while it records, numbers or announces, leaves a pick with one seal and one reveal, or no pick.
func TestAProcessKilledAtAnyStatementLeavesOneSealAndOneReveal(t *testing.T) {
	t.Parallel()
	s := newSealing(t, "2026-03-02")
	n, died := 0, 0
	for _, after := range []bool{false, true} {
		for at := int64(1); ; at++ {
			day := date(t, "2026-03-02").AddDate(0, 0, n).Format(time.DateOnly)
			n++
			s.clock(day, 17*time.Hour+30*time.Minute)
			due := calendar.At(date(t, day), 18*time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			k := &killer{at: at, after: after, died: cancel}
			victim, err := postgres.Open(ctx, s.url, postgres.RoleWorker, postgres.WithConfig(k.config))
			if err == nil {
				_, _, err = victim.AppendPick(ctx, task.Fence{}, newPick("AAPL", "1.00", day))
				err = errors.Join(err, sequence(ctx, victim, postgres.LogRecord, s.s))
				s.clock(day, 18*time.Hour)
				_, announceErr := victim.AnnounceDue(ctx, task.Fence{}, due)
				err = errors.Join(err, announceErr, sequence(ctx, victim, postgres.LogRecord, s.s))
				victim.Close()
			}
			cancel()
			s.clock(day, 18*time.Hour)
			if _, _, err := s.db.AppendPick(t.Context(), task.Fence{}, newPick("AAPL", "1.00", day)); err != nil {
				t.Fatalf("after a death at write %d: %v", at, err)
			}
			if _, err := s.db.AnnounceDue(t.Context(), task.Fence{}, due); err != nil {
				t.Fatalf("after a death at write %d: %v", at, err)
			}
			if !k.dead.Load() && err == nil {
				break
			}
			died++
		}
	}
	// The server may hold the locks of a dead process for a while, and other processes then do nothing.
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		s.sequence()
		if seals, err := s.db.Seals(t.Context()); err != nil || len(seals) == n && !slices.ContainsFunc(seals, func(x postgres.Seal) bool { return x.RevealIndex == nil }) {
			break
		}
	}
	opened(t, s.leaves(), n)
	if s.s.forked != nil || died < 20 {
		t.Errorf("%d deaths, %v", died, s.s.forked)
	}
	t.Logf("%d deaths, %d picks", died, n)
}

// saltOf reads the salt as the database's owner.
func saltOf(t *testing.T, url, day string) (salt []byte) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if err := c.QueryRow(t.Context(), `select salt from pick_seals where date = $1`, day).Scan(&salt); err != nil {
		t.Fatal(err)
	}
	return salt
}

func TestNoRoleSeesASaltBeforeTheReveal(t *testing.T) {
	t.Parallel()
	s := newSealing(t, "2026-03-02")
	salts := map[string]bool{}
	p := s.append("HIDDEN", "222.22", "2026-03-02")
	s.sequence()
	salt := saltOf(t, s.url, "2026-03-02")
	salts[string(salt)] = true
	for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
		text := seen(t, s.url, role)
		for _, secret := range []string{hex.EncodeToString(salt), `\x` + hex.EncodeToString(salt)} {
			if strings.Contains(text, secret) {
				t.Errorf("the role %s sees the salt", role)
			}
		}
		if role == postgres.RoleAPI && (strings.Contains(text, "HIDDEN") || strings.Contains(text, p.Hash)) {
			t.Error("the API's role sees the pick")
		}
		for _, sql := range []string{
			`select salt from pick_seals`, `select reveal_pick(1, now())`, `select reveal_leaf(s) from pick_seals s`, `select * from pick_seals`,
			`insert into pick_seals select * from pick_seals`,
		} {
			if err := exec(t, s.url, role, sql); err == nil {
				t.Errorf("%q as %s is taken", sql, role)
			}
		}
	}
	s.announce("2026-03-02")
	s.sequence()
	leaves, err := s.db.LogLeaves(t.Context(), postgres.LogRecord, 0, 9)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(slices.Concat(leaves...)), hex.EncodeToString(salt)) {
		t.Error("the reveal does not have the salt: the search shows nothing")
	}
	for n := range 20 { // salts are drawn anew
		day := date(t, "2026-03-03").AddDate(0, 0, n).Format(time.DateOnly)
		s.clock(day, 17*time.Hour+30*time.Minute)
		s.append("HIDDEN", "222.22", day)
		salts[string(saltOf(t, s.url, day))] = true
	}
	if len(salts) != 21 {
		t.Errorf("%d salts for 21 picks", len(salts))
	}
}

// witness stores a quorum over the newest checkpoint.
func (s *sealing) witness() {
	s.t.Helper()
	c, err := s.db.NewestLogCheckpoint(s.t.Context(), postgres.LogRecord, false)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.db.AddLogCosignatures(s.t.Context(), postgres.LogRecord, c.Size, nil, true); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sealing) ask(witnesses ...postgres.LogWitness) {
	s.t.Helper()
	start := postgres.LogStart{Log: postgres.LogRecord, Origin: s.s.Origin(), VKey: s.s.VKey(), Environment: "demo", Witnesses: witnesses}
	if err := s.db.BeginLog(s.t.Context(), start); err != nil {
		s.t.Fatal(err)
	}
}

// An announcement waits for the witnesses of its seal, and not forever.
func TestAnAnnouncementWaitsForItsWitnessesForFiveMinutes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		witnesses []postgres.LogWitness
		cosigned  bool
		clock     time.Duration
		want      int
	}{
		"nobody is asked":              {nil, false, 18*time.Hour + 20*time.Minute, 1},
		"the quorum is there":          {[]postgres.LogWitness{{Name: "w"}}, true, 18*time.Hour + 20*time.Minute, 1},
		"the witnesses are silent":     {[]postgres.LogWitness{{Name: "w"}}, false, 18*time.Hour + 24*time.Minute, 0},
		"they are silent for too long": {[]postgres.LogWitness{{Name: "w"}}, false, 18*time.Hour + 25*time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSealing(t, "2026-03-02")
			s.ask(tt.witnesses...)
			s.clock("2026-03-02", 18*time.Hour+20*time.Minute) // the closes came late
			s.append("AAPL", "451.10", "2026-03-02")
			s.sequence()
			if tt.cosigned {
				s.witness()
			}
			if waits, err := s.db.SealWaits(t.Context()); err != nil || waits != (tt.witnesses != nil && !tt.cosigned) {
				t.Errorf("the seal waits %v, %v", waits, err)
			}
			if list := s.announceAt("2026-03-02", tt.clock); len(list) != tt.want {
				t.Errorf("announced %d picks, want %d", len(list), tt.want)
			}
			held, err := s.db.HeldBack(t.Context(), calendar.At(date(t, "2026-03-02"), tt.clock))
			if err != nil || held != (tt.want == 0) {
				t.Errorf("held back %v, %v", held, err)
			}
			if waits, err := s.db.SealWaits(t.Context()); err != nil || waits != (tt.want == 0) {
				t.Errorf("after the announcement the seal waits %v, %v", waits, err)
			}
		})
	}
}
