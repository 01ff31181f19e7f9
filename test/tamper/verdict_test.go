package tamper_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/tlog"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/test/program"
)

// keeper keeps the signer's mark in memory.
type keeper struct {
	*tlog.Signer

	size int64
	root tlog.Hash
}

func (k *keeper) Mark() (int64, tlog.Hash, error) { return k.size, k.root, nil }

func (k *keeper) SetMark(size int64, root tlog.Hash) error {
	k.size, k.root = size, root
	return nil
}

// witnessed is a served record of the last trading days, in a log that two of three witnesses cosigned a moment ago.
type witnessed struct {
	*server

	root *pgx.Conn
	// policy is a reader's file. It names the log and its witnesses.
	policy string
}

// serveWitnessed serves a record of the last trading days with its log, whose leaves were there before it began.
func serveWitnessed(t *testing.T) *witnessed {
	t.Helper()
	const days = 20
	s, root := startAt(t, calendar.Add(lastOfRecord(), 1-days), days, time.Now(), 20*time.Millisecond)
	w := &witnessed{s, root, filepath.Join(t.TempDir(), "my.policy")}
	db, err := postgres.Open(t.Context(), s.dsn, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	keys, err := tlog.NewLogKey(rand.Reader, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := tlog.NewSigner(keys.Private)
	if err != nil {
		t.Fatal(err)
	}
	policy := "log " + keys.Public + "\n"
	cosigners := map[string]*tlog.Cosigner{}
	for _, name := range []string{"anna", "bert", "carl"} {
		k, err := tlog.NewWitnessKey(rand.Reader, name+".example/w")
		if err != nil {
			t.Fatal(err)
		}
		if cosigners[name], err = tlog.NewCosigner(k.Private); err != nil {
			t.Fatal(err)
		}
		policy += fmt.Sprintf("witness %s %s\n", name, k.Public)
	}
	policy += "group two 2 anna bert carl\nquorum two\n"
	if err := os.WriteFile(w.policy, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	mark := &keeper{Signer: signer}
	err = db.BeginLog(t.Context(), postgres.LogStart{Log: postgres.LogRecord, Origin: signer.Origin(), VKey: signer.VKey(), Environment: "demo", Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.NumberLeaves(t.Context(), postgres.LogRecord); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.IntegrateLeaves(t.Context(), postgres.LogRecord, mark); err != nil {
		t.Fatal(err)
	}
	c, err := db.NewestLogCheckpoint(t.Context(), postgres.LogRecord, false)
	if err != nil {
		t.Fatal(err)
	}
	var lines []postgres.LogCosignature
	for _, name := range []string{"anna", "carl"} {
		line, err := cosigners[name].Cosign(tlog.SignedBody(c.Note), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, postgres.LogCosignature{Witness: cosigners[name].VKey(), Line: line, At: time.Now()})
	}
	if err := db.AddLogCosignatures(t.Context(), postgres.LogRecord, c.Size, lines, true); err != nil {
		t.Fatal(err)
	}
	return w
}

// lastOfRecord is the last day of the record.
func lastOfRecord() time.Time {
	last := calendar.LastClosed(time.Now())
	if calendar.DayOf(time.Now()).Equal(last) { // its announcement may be to come
		return calendar.Previous(last)
	}
	return last
}

// verdicts are what each way of asking says of the record, by its name. Two of them are asked about the newest pick of a ticker.
func (w *witnessed) verdicts(t *testing.T, ticker string) map[string]string {
	t.Helper()
	said := map[string]string{}
	verdict := func(way string, body []byte) {
		t.Helper()
		var a struct{ Verdict string }
		if err := json.Unmarshal(body, &a); err != nil {
			t.Fatalf("%s: %v: %.300s", way, err, body)
		}
		said[way] = a.Verdict
	}
	verdict("/api/v1/verify/picks", w.get(t, "/api/v1/verify/picks"))
	verdict("/api/v1/verify/pick", w.get(t, "/api/v1/verify/pick/"+ticker))
	call, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify_pick","arguments":{"ticker":"`+ticker+`"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	call.Header.Set("Content-Type", "application/json")
	call.Header.Set("Accept", "application/json, text/event-stream")
	var answer struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
	}
	if err := program.Do(call, http.StatusOK, &answer); err != nil {
		t.Fatal(err)
	}
	verdict("verify_pick", answer.Result.StructuredContent)
	if word := strings.ReplaceAll(said["verify_pick"], "_", "-"); !strings.Contains(answer.Result.Content[0].Text, "Verdict of this server: "+word+".") {
		t.Errorf("verify_pick says %q in its text, and %s", answer.Result.Content[0].Text, word)
	}
	w.readers(t, said, w.policy)
	return said
}

// unvouched are what the three verifiers say for a reader without a policy, by their names.
func (w *witnessed) unvouched(t *testing.T) map[string]string {
	t.Helper()
	said := map[string]string{}
	w.readers(t, said, "")
	return said
}

// askPage asks as the page /verify does, with its own files, but for the attestations: this server has none.
const askPage = `
import { readFileSync } from "node:fs";
const [scripts, url, file] = process.argv.slice(-3);
const { recompute, judge } = await import(scripts + "/verdict.mjs");
const { fetchLog, parsePolicy, serverPolicy } = await import(scripts + "/log.mjs");
const chain = await (await fetch(url + "/api/v1/verify/picks")).json();
const named = file === "none", info = named && await (await fetch(url + "/api/v1/info")).json();
if (named && !info.data?.log) throw new Error("no log in " + JSON.stringify(info));
const text = named ? serverPolicy(info.data.log) : readFileSync(file, "utf8");
const read = await fetchLog(url + "/log/", await parsePolicy(text), Date.now()).catch((e) => ({ why: e.message }));
const log = read.why ? { hashes: [], fault: null, cosigners: [], enough: () => false } : read;
const clock = new Date().toISOString(), policy = { attester: null, now: named ? chain.verified_at : clock, clock }; // who names a policy has a clock
console.log(judge(chain, await recompute(chain.picks), [], policy, { ...log, required: true, named }).verdict);
`

// readers adds what the command, the page's script and the independent verifier say, where the machine can run them. An empty policy is none.
func (w *witnessed) readers(t *testing.T, said map[string]string, policy string) {
	t.Helper()
	own, file := []string{}, "none"
	if policy != "" {
		own, file = []string{"--policy", policy}, policy
	}
	status, out := program.Run(t, program.Options{Dir: t.TempDir()}, append([]string{"verify", "--json", "--no-remember", "--url", w.url}, own...)...)
	report, _, _ := bytes.Cut([]byte(out), []byte("\n}\n"))
	var judged struct{ Verdict string }
	if err := json.Unmarshal(append(report, '}'), &judged); err != nil {
		t.Fatalf("tidemark verify: %v: %.300s", err, out)
	}
	said["tidemark verify"] = judged.Verdict
	if contradicted := judged.Verdict == "contradicted"; contradicted != (status != 0) {
		t.Errorf("tidemark verify says %s and exits with %d", judged.Verdict, status)
	}
	scripts := t.TempDir()
	for _, name := range []string{"verdict", "log"} {
		text, err := os.ReadFile("../../api/pages/static/" + name + ".js")
		if err == nil {
			err = os.WriteFile(filepath.Join(scripts, name+".mjs"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for way, args := range map[string][]string{
		"the page's script": {"node", "--input-type=module", "--eval", askPage, "--", scripts, w.url, file},
		"verify.py":         append([]string{"python3", "../../examples/python/verify.py", "--url", w.url}, own...),
	} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Logf("%s is not installed, so %s was not asked", args[0], way)
			continue
		}
		var complaint bytes.Buffer
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		said[way], _, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
		if said[way] == "" {
			t.Errorf("%s: %v: %s", way, err, complaint.Bytes())
		}
	}
}

// agree reports whether all say the word.
func agree(said map[string]string, word string) bool {
	for _, w := range said {
		if w != word {
			return false
		}
	}
	return true
}

// A superuser changes the stored record. The server's own word, what agents are told, and the command, the page's script and the independent
// verifier with a reader's policy are one verdict, and it is not "witnessed".
func TestALieInTheDatabaseHasOneVerdictByEveryWayOfAsking(t *testing.T) {
	t.Parallel()
	const rehash = `
		do $$
		declare
			r record;
			previous text := repeat('0', 64);
		begin
			update picks set price = '999.99' where seq = 7;
			for r in select * from picks order by seq loop
				update picks set previous_hash = previous, hash = pick_hash(ticker, price, date, previous) where seq = r.seq returning hash into previous;
			end loop;
		end
		$$;`
	const appended = `
		do $$
		declare
			p picks;
		begin
			select * into p from picks order by seq desc limit 1;
			p.seq := p.seq + 1;
			p.ticker := 'ACME';
			p.date := '%s';
			p.previous_hash := p.hash;
			p.hash := pick_hash(p.ticker, p.price, p.date, p.previous_hash);
			insert into picks values (p.*);
			insert into announcements (seq, announced_at) values (p.seq, now());
		end
		$$;`
	const known = "MSFT" // the ticker of the second pick, and of one of the last
	next := calendar.Next(lastOfRecord())
	nextWant := "contradicted"
	if end, _ := calendar.Close(next); time.Now().After(end) {
		nextWant = "self_consistent"
	}
	for name, lie := range map[string]struct{ sql, want string }{
		"a pick of a day to come is appended": {fmt.Sprintf(appended, calendar.Add(next, 3).Format(time.DateOnly)), "contradicted"},
		"a pick of the next day is appended":  {fmt.Sprintf(appended, next.Format(time.DateOnly)), nextWant},
		"a pick is edited":                    {`update picks set price = '999.99' where seq = 7`, "contradicted"},
		"two picks are exchanged":             {`update picks p set (ticker, price) = (select o.ticker, o.price from picks o where o.seq = 15 - p.seq) where seq in (7, 8)`, "contradicted"},
		"the newest picks are cut off":        {`delete from announcements where seq > 16; delete from picks where seq > 16`, "contradicted"},
		"the chain is rewritten":              {rehash, "contradicted"},
		"a missed day is hidden":              {`delete from gaps`, "contradicted"},
		"the chain and the log are rewritten": {rehash + `update log_entries e set leaf = convert_to(pick_leaf(p, a.announced_at), 'UTF8') from picks p join announcements a using (seq) where e.key = 'pick:' || p.seq`, "self_consistent"},
		"a leaf of the log is edited":         {`update log_entries set leaf = convert_to(replace(convert_from(leaf, 'UTF8'), 'no price', 'no luck'), 'UTF8') where key ^@ 'gap:'`, "self_consistent"},
		"the witnesses' lines are taken away": {`delete from log_cosignatures; update log_checkpoints set witnessed_at = null`, "self_consistent"},
		"a line of a witness is edited":       {`update log_cosignatures set line = overlay(line placing 'AAAA' from length(line) - 20)`, "self_consistent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serveWitnessed(t)
			eventually(t, "the quorum", func() bool {
				return bytes.Contains(w.get(t, "/api/v1/verify/picks?limit=1"), []byte(`"verdict":"witnessed"`))
			})
			if said := w.verdicts(t, known); !agree(said, "witnessed") {
				t.Fatalf("before the lie: %v", said)
			}
			if said := w.unvouched(t); !agree(said, "self_consistent") {
				t.Fatalf("before the lie, without a policy: %v", said)
			}
			offline(t, w.root, lie.sql)
			// A pass that begins between two statements of a lie sees the first alone.
			eventually(t, "the full pass: the server says "+lie.want, func() bool {
				return bytes.Contains(w.get(t, "/api/v1/verify/picks?limit=1"), []byte(`"verdict":"`+lie.want+`"`))
			})
			asked := known
			if strings.Contains(name, "appended") {
				asked = "ACME"
			}
			if said := w.verdicts(t, asked); !agree(said, lie.want) {
				t.Errorf("%v, want %s of all", said, lie.want)
			}
			if said := w.unvouched(t); !agree(said, lie.want) {
				t.Errorf("without a policy: %v, want %s of all", said, lie.want)
			}
		})
	}
}
