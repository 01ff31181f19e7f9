package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/accounts"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
)

type keysCommand struct {
	config.Stored

	List   keysList   `cmd:"" default:"withargs" help:"Print the keys."`
	Show   keysShow   `cmd:"" help:"Print what belongs to a key: its ledger, its plans."`
	Revoke keysRevoke `cmd:"" help:"End a key permanently, everywhere at once."`
	Credit keysCredit `cmd:"" help:"Add to a key's balance."`
	Grant  keysGrant  `cmd:"" help:"Make a key Pro for some days."`
	Move   keysMove   `cmd:"" help:"Give a key's balance, and what is left of its Pro period, to another key."`
}

type keysList struct {
	format

	Match string `arg:"" optional:"" help:"Part of a name, or the beginning of a key."`
	Limit limit  `default:"50" help:"How many, newest first."`
}

// Run prints the keys.
func (c keysList) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	// An operator may pass a whole key, for example a leaked one. Only its prefix is used.
	match := c.Match
	if key, err := accounts.ParseKey(match); err == nil {
		match = key.Prefix()
	}
	list, err := db.Keys(ctx, postgres.KeyFilter{Match: match, Limit: int(c.Limit)})
	if err != nil {
		return err
	}
	t := newTable("key", "prefix", "name", "created", "balance", "pro until", "last used", "revoked")
	for _, k := range list {
		prefix := ""
		if len(k.Prefixes) > 0 {
			prefix = k.Prefixes[0]
		}
		t.add(k.PublicID, prefix, k.Name, k.CreatedAt, fmt.Sprint(k.Balance), k.ProUntil, k.LastUsedAt, k.RevokedAt)
	}
	return c.list(p.stdout, t)
}

// stamp formats a time that may be unknown.
func stamp(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

type keysShow struct {
	format

	Key   string `arg:"" help:"The key's id (key_…)."`
	Limit limit  `default:"20" help:"How many lines of the ledger, newest first."`
}

// Run prints a key with its balance entries and its plans.
func (c keysShow) Run(ctx context.Context, p *program) error {
	return p.withKey(ctx, c.Key, func(db *postgres.DB, k postgres.KeyRow) error {
		lines, err := db.BalanceEntries(ctx, k.ID, int(c.Limit))
		if err != nil {
			return err
		}
		plans, err := db.PlanChanges(ctx, k.ID)
		if err != nil {
			return err
		}
		if c.JSON {
			return writeJSON(p.stdout, keyJSON(k, lines, plans))
		}
		w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
		line := func(name, text string) { _, _ = fmt.Fprintf(w, "%s\t%s\n", name, text) }
		line("key", k.PublicID)
		line("name", k.Name)
		line("prefixes", strings.Join(k.Prefixes, ", "))
		line("created", k.CreatedAt.UTC().Format(time.RFC3339))
		line("last used", stamp(k.LastUsedAt))
		line("balance", k.Balance.String()+" USD")
		line("Pro until", stamp(k.ProUntil))
		if k.RevokedAt != nil {
			line("revoked", fmt.Sprintf("%s by %s: %s", stamp(k.RevokedAt), deref(k.RevokedBy), deref(k.RevokedReason)))
		}
		for _, c := range plans {
			line("plan", fmt.Sprintf("%s %s, Pro until %s %s", stamp(&c.At), c.Kind, stamp(&c.ProUntil), reasonCell(c.Ref, c.By, c.Reason)))
		}
		_, _ = fmt.Fprintln(w, "\nAT\tKIND\tAMOUNT\tBALANCE\tFOR")
		for _, l := range lines {
			what := reasonCell(l.Ref, l.By, l.Reason)
			if l.Endpoint != nil {
				what = *l.Endpoint
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", stamp(&l.At), l.Kind, l.Amount, l.Balance, what)
		}
		return w.Flush()
	})
}

// reasonCell describes the origin of a fact.
func reasonCell(ref, by, reason *string) string {
	var parts []string
	if ref != nil {
		parts = append(parts, *ref)
	}
	if by != nil {
		parts = append(parts, "by "+*by+": "+deref(reason))
	}
	return strings.Join(parts, " ")
}

// withKey finds a key by its id and passes it to f.
func (p *program) withKey(ctx context.Context, id string, f func(*postgres.DB, postgres.KeyRow) error) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	k, err := keyRow(ctx, db, id)
	if err != nil {
		return err
	}
	return f(db, k)
}

func keyRow(ctx context.Context, db *postgres.DB, id string) (postgres.KeyRow, error) {
	list, err := db.Keys(ctx, postgres.KeyFilter{PublicID: id, Limit: 1})
	if err != nil {
		return postgres.KeyRow{}, err
	}
	if id == "" || len(list) == 0 {
		return postgres.KeyRow{}, usageError{fmt.Errorf("unknown key %q; `tidemark keys list` prints their ids", id)}
	}
	return list[0], nil
}

// keyReason is the reason that every manual change of a key requires.
type keyReason struct {
	Reason reason `required:"" help:"Why, for the record."`
}

type keysRevoke struct {
	Key string `arg:"" help:"The key's id (key_…)."`
	keyReason
}

// Run revokes a key.
func (c keysRevoke) Run(ctx context.Context, p *program) error {
	return p.withKey(ctx, c.Key, func(db *postgres.DB, k postgres.KeyRow) error {
		done, err := db.Revoke(ctx, k.ID, operator(), string(c.Reason))
		if err != nil {
			return err
		}
		if !done {
			return fmt.Errorf("%s was revoked already, %s by %s: %s", k.PublicID, stamp(k.RevokedAt), deref(k.RevokedBy), deref(k.RevokedReason))
		}
		_, err = fmt.Fprintf(p.stdout, "%s is revoked; its balance of %s USD can be moved to another key\n", k.PublicID, k.Balance)
		return err
	})
}

// gift holds the flags of every manual gift to a key.
type gift struct {
	keyReason
	Ref string `help:"Your own name for it. If the command runs again with the same name, the amount is not given twice. Default: a name that an error states."`
}

// give makes a gift under its name. If the response is lost, the outcome is unknown, so the error says how to retry safely.
func (g gift) give(do func(postgres.Gift) error) error {
	if g.Ref == "" {
		g.Ref = rand.Text()
	}
	err := do(postgres.Gift{Ref: g.Ref, By: operator(), Reason: string(g.Reason)})
	if err != nil && !errors.Is(err, postgres.ErrGiven) {
		return fmt.Errorf("%w (to try again, and not to give it twice, add --ref=%s)", err, g.Ref)
	}
	return err
}

type keysCredit struct {
	Key    string `arg:"" help:"The key's id (key_…)."`
	Amount string `arg:"" help:"US dollars, such as 5 or 0.25."`
	gift
}

// Run adds to a key's balance.
func (c keysCredit) Run(ctx context.Context, p *program) error {
	amount, err := accounts.ParseMicros(c.Amount)
	if err != nil {
		return usageError{err}
	}
	if amount == 0 {
		return usageError{errors.New("the amount is 0")}
	}
	return p.withKey(ctx, c.Key, func(db *postgres.DB, k postgres.KeyRow) error {
		var balance accounts.Micros
		err := c.give(func(g postgres.Gift) (err error) {
			balance, err = db.Credit(ctx, k.ID, amount, g)
			return err
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "%s has %s USD more: %s USD\n", k.PublicID, amount, balance)
		return err
	})
}

type keysGrant struct {
	Key  string `arg:"" help:"The key's id (key_…)."`
	Days int    `default:"30" help:"How many days, added to the rest of the present period."`
	gift
}

// Run makes a key Pro.
func (c keysGrant) Run(ctx context.Context, p *program) error {
	if c.Days < 1 || c.Days > 3660 {
		return usageError{fmt.Errorf("--days: %d is not a number from 1 to 3660", c.Days)}
	}
	return p.withKey(ctx, c.Key, func(db *postgres.DB, k postgres.KeyRow) error {
		var until time.Time
		err := c.give(func(g postgres.Gift) (err error) {
			until, err = db.Grant(ctx, k.ID, time.Duration(c.Days)*24*time.Hour, g)
			return err
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "%s is Pro until %s, where BILLING_MODEL is plan\n", k.PublicID, stamp(&until))
		return err
	})
}

type keysMove struct {
	From string `arg:"" help:"The id of the key that gives (key_…)."`
	To   string `arg:"" help:"The id of the key that gets."`
	keyReason
}

// Run moves the balance and plans of a key to another key.
func (c keysMove) Run(ctx context.Context, p *program) error {
	if c.From == c.To {
		return usageError{errors.New("a key cannot be moved to itself")}
	}
	return p.withKey(ctx, c.From, func(db *postgres.DB, from postgres.KeyRow) error {
		to, err := keyRow(ctx, db, c.To)
		if err != nil {
			return err
		}
		if to.RevokedAt != nil {
			return fmt.Errorf("%s is revoked, so its balance could not be spent", to.PublicID)
		}
		amount, pro, err := db.Move(ctx, from.ID, to.ID, operator(), string(c.Reason))
		if err != nil {
			return err
		}
		what := amount.String() + " USD"
		if pro {
			what += " and the Pro plan"
		}
		_, err = fmt.Fprintf(p.stdout, "%s: moved from %s to %s\n", what, from.PublicID, to.PublicID)
		return err
	})
}
