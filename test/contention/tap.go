// Package contention disturbs the connections between a running program and a real Postgres. It delays statements for times that a seed
// draws, and lets chosen statements fail once with a transient error. It also computes checksums of a database. With them, a world with an
// error is compared with a world without an error. cmd/tidemark connects it with the roles of the program: see `make contention` and `make
// sweep`. Start at Tap.
package contention

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Class is a kind of transient failure of a statement.
type Class string

// The classes. In all of them the server is in the state in which the error would leave it. It raises the first three itself, in place of
// the statement. In the others it sees the end of the connection.
const (
	None         Class = ""
	Serializable Class = "40001" // could not serialize
	Deadlock     Class = "40P01" // chosen as the victim of a deadlock
	Locked       Class = "55P03" // the lock is not available
	Terminated   Class = "57P01" // an administrator ends the session
	Cut          Class = "08006" // the connection breaks, the server never sees the statement
	AnswerLost   Class = "08006 after"
	Full         Class = "53300" // no connection is free. Only outside of transactions: inside of one there is a connection.
)

// Classes are all of them.
var Classes = []Class{Serializable, Deadlock, Locked, Terminated, Cut, AnswerLost, Full}

// refused reports whether the server rejects a statement in this class, and with which SQLSTATE.
func (c Class) refused() (state string, ok bool) {
	switch c {
	case Serializable, Deadlock, Locked:
		return string(c), true
	}
	return "", false
}

// refusal is the name of the prepared statement that fails with a SQLSTATE.
func refusal(state string) string { return "contention_" + state }

// Shot is one statement that fails once.
type Shot struct {
	// SQL is the statement, normalized. Class is how it fails, and Nth which time it is sent, from 1.
	SQL   string
	Class Class
	Nth   int
}

func (s Shot) String() string { return fmt.Sprintf("%s at the %d. %q", s.Class, s.Nth, Brief(s.SQL)) }

// Brief is the beginning of a statement, for people.
func Brief(sql string) string {
	if len(sql) > 100 {
		return sql[:100] + "..."
	}
	return sql
}

// Seen is how often a statement was sent.
type Seen struct {
	// All counts every time that the statement was sent, Outside the times outside of a transaction.
	All, Outside int
}

// Options say how a Tap disturbs.
type Options struct {
	Seed uint64
	// Pause is the longest pause before a statement. Zero: none.
	Pause time.Duration
	// Rows is the share of changed rows at which the server itself pauses for some milliseconds, with the row locked. Zero: none.
	Rows float64
	// Plans lets connections plan in other ways again and again, so that each statement meets its rows in another order.
	Plans bool
}

// Tap disturbs the connections of a program. Use New to create one.
type Tap struct {
	o     Options
	admin *pgxpool.Pool

	mu    sync.Mutex
	dice  *rand.Rand
	seen  map[string]*Seen
	shots map[string][]Shot
	fired []Shot
}

// The functions that a database needs to be tapped. pg_sleep in a trigger holds the lock of its row: the trigger is called once the server
// has it. A share of 0 leaves the triggers away.
const tappedSQL = `
	create schema contention;
	grant usage on schema contention to public;
	create function contention.refuse(state text) returns int language plpgsql as $$
	begin
		raise exception 'made to fail by contention' using errcode = state;
	end
	$$;
	create function contention.linger() returns trigger language plpgsql as $$
	begin
		if random() < current_setting('contention.rows', true)::float then
			perform pg_sleep(0.002 + 0.01 * random());
		end if;
		return case tg_op when 'DELETE' then old else new end;
	end
	$$;`

const lingerSQL = `
	do $$
	declare
		r record;
	begin
		for r in select oid::regclass as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'goose_db_version' loop
			execute format('create trigger "a contention" before update or delete on %s for each row execute function contention.linger()', r.name);
		end loop;
	end
	$$`

// Runs that become due together are stored in the order of their slots. Moments of the past by chance let an index give them in another one.
const shuffleSQL = `;
	create function contention.shuffle() returns trigger language plpgsql as $$
	begin
		if current_setting('contention.rows', true) is not null then
			new.next_try_at := clock_timestamp() - random() * interval '1 second';
		end if;
		return new;
	end
	$$;
	create trigger "a contention at its begin" before insert on runs for each row when (new.status = 'due' and new.next_try_at is null)
		execute function contention.shuffle();`

// New prepares the migrated database at url. The URL must name the superuser.
func New(ctx context.Context, url string, o Options) (*Tap, error) {
	admin, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("contention: %w", err)
	}
	sql := tappedSQL
	if o.Rows > 0 {
		sql += lingerSQL
	}
	if o.Plans {
		sql += shuffleSQL
	}
	if _, err := admin.Exec(ctx, sql); err != nil {
		admin.Close()
		return nil, fmt.Errorf("contention: prepare the database: %w", err)
	}
	return &Tap{
		o: o, admin: admin, dice: rand.New(rand.NewPCG(o.Seed, 1)), seen: map[string]*Seen{}, shots: map[string][]Shot{},
	}, nil
}

// Close ends the Tap's own connections.
func (t *Tap) Close() { t.admin.Close() }

// Load makes statements fail.
func (t *Tap) Load(shots ...Shot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range shots {
		t.shots[s.SQL] = append(t.shots[s.SQL], s)
	}
}

// Fired returns the shots that have hit, in their order.
func (t *Tap) Fired() []Shot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.fired)
}

// Statements returns what was sent so far, and how often.
func (t *Tap) Statements() map[string]Seen {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]Seen{}
	for sql, s := range t.seen {
		out[sql] = *s
	}
	return out
}

// plans are settings of the planner that lead to other plans.
var plans = []string{"enable_hashjoin", "enable_mergejoin", "enable_nestloop", "enable_seqscan", "enable_indexscan", "enable_bitmapscan", "enable_sort"}

// rest is the share of the times that a connection is taken from its pool at which it keeps its planner settings.
const rest = .8

// Tap makes the connections of a pool go through t. It is an option of postgres.Open.
func (t *Tap) Tap(c *pgxpool.Config) {
	c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		inner, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: inner, tap: t, prepared: map[string]string{}}, nil
	}
	c.PrepareConn = func(ctx context.Context, pc *pgx.Conn) (bool, error) {
		t.mu.Lock()
		again := t.o.Plans && t.dice.Float64() > rest
		t.mu.Unlock()
		if again {
			_, err := pc.PgConn().Exec(ctx, t.plan()).ReadAll()
			return err == nil, nil //nolint:nilerr // another connection is taken
		}
		return true, nil
	}
	c.AfterConnect = func(ctx context.Context, pc *pgx.Conn) error {
		var sql strings.Builder
		_, _ = fmt.Fprintf(&sql, "set contention.rows = %g;", t.o.Rows)
		for _, class := range Classes {
			if state, ok := class.refused(); ok {
				_, _ = fmt.Fprintf(&sql, "prepare %q as select contention.refuse('%s');", refusal(state), state)
			}
		}
		sql.WriteString(t.plan())
		if _, err := pc.PgConn().Exec(ctx, sql.String()).ReadAll(); err != nil {
			return fmt.Errorf("contention: %w", err)
		}
		if c, ok := pc.PgConn().Conn().(*conn); ok {
			c.pid = pc.PgConn().PID()
		}
		return nil
	}
}

// plan is SQL that draws how a connection plans from now on.
func (t *Tap) plan() string {
	if !t.o.Plans {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var sql strings.Builder
	_, _ = fmt.Fprintf(&sql, "%s set plan_cache_mode = force_custom_plan; select setseed(%g);", own, t.dice.Float64())
	for _, p := range plans {
		_, _ = fmt.Fprintf(&sql, "set %s = %t;", p, t.dice.Float64() > .3)
	}
	return sql.String()
}

// own marks statements that do not belong to the program.
const own = "/* contention */"

// statement is called with each statement before it is sent, and says how it fails.
func (t *Tap) statement(c *conn, sql string) Class {
	c.mu.Lock()
	inTx := c.inTx
	c.mu.Unlock()
	if strings.HasPrefix(sql, own) {
		return None
	}
	t.mu.Lock()
	s := t.seen[sql]
	if s == nil {
		s = &Seen{}
		t.seen[sql] = s
	}
	s.All++
	if !inTx {
		s.Outside++
	}
	class := None
	for i, shot := range t.shots[sql] {
		nth := s.All
		if shot.Class == Full {
			nth = s.Outside
		}
		if nth >= shot.Nth && (shot.Class != Full || !inTx) {
			class = shot.Class
			t.shots[sql] = slices.Delete(t.shots[sql], i, i+1)
			t.fired = append(t.fired, shot)
			break
		}
	}
	var pause time.Duration
	if t.o.Pause > 0 && t.dice.Float64() < .1 { // most pass at once, few wait long
		u := t.dice.Float64()
		pause = time.Duration(u * u * float64(t.o.Pause))
	}
	t.mu.Unlock()
	if pause > 0 {
		time.Sleep(pause) //nolint:forbidigo // that is what it is for
	}
	return class
}

// terminate ends a session as an administrator does, and returns when the session has ended.
func (t *Tap) terminate(pid uint32) {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	_, _ = t.admin.Exec(ctx, `select pg_terminate_backend($1, 5000)`, int64(pid))
}

var (
	spaces = regexp.MustCompile(`\s+`)
	// Some statements are made of as many parts as they have rows.
	numbers = regexp.MustCompile(`\$\d+(, ?\$\d+)+`)
)

// Normalize brings a statement to the form in which it is told from others.
func Normalize(sql string) string {
	return numbers.ReplaceAllString(strings.TrimSpace(spaces.ReplaceAllString(sql, " ")), "$$n")
}
