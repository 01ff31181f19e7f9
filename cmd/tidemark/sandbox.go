package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/ingest/edgar"
	"tidemark/ingest/sources"
	"tidemark/ingest/world"
	"tidemark/internal/config"
	"tidemark/internal/nearest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

type sandboxCommand struct {
	config.Stored

	Fault  sandboxFault  `cmd:"" help:"Let the upstream of a source misbehave: late, revised, malformed, shrunk, away."`
	Clear  sandboxClear  `cmd:"" help:"Let the upstream of a source behave again."`
	Faults sandboxFaults `cmd:"" help:"Print what misbehaves, since when and until when."`
}

// scheduleSettings holds the settings that decide what the schedule requests.
type scheduleSettings struct {
	config.Licences
	config.Companies
	config.Clock
	config.ColdArchive
}

// troublesFile returns the file with the faults of this sandbox.
func (p *program) troublesFile() string { return filepath.Join(p.worldDir(), "troubles.json") }

// faultable returns the sources whose upstreams can have faults: all that the schedule requests, alone or together with another source.
func (p *program) faultable() (ids []string) {
	for _, s := range p.schedule() {
		if s.Job == task.Ingest || s.Job == task.Equities {
			ids = append(ids, s.Subject)
		}
	}
	return append(ids, edgar.Submissions("", nil).ID, edgar.Facts("", nil).ID)
}

// seeFault says how to see the effect of a source's fault. The schedule accepts the command that it names.
func (p *program) seeFault(source string) string {
	job, subject, but := task.Equities, source, ""
	switch source {
	case edgar.Companies("").ID, edgar.Current("").ID:
	case edgar.Submissions("", nil).ID:
		subject, but = edgar.Current("").ID, "; it is requested for companies that have filed something new"
	case edgar.Facts("", nil).ID:
		subject, but = edgar.Current("").ID, "; it is requested for companies that have filed a report"
	case edgar.Documents("", nil).ID:
		but = "; it is requested for companies whose pick is announced"
	default:
		if slices.ContainsFunc(p.priceSources(), func(of sharesSource) bool { return of(nil).ID == source }) {
			but = "; it is requested for shares that lack the newest close"
		} else {
			job = task.Ingest
		}
	}
	return fmt.Sprintf("see it with `tidemark schedule run %s %s --wait`%s", job, subject, but)
}

// inSandbox returns an error in every other world.
func (p *program) inSandbox() error {
	if p.settings.World != "sandbox" {
		return usageError{fmt.Errorf("WORLD is %s: only a sandbox (--world=sandbox) has upstreams whose faults can be set", p.settings.World)}
	}
	return nil
}

type sandboxFault struct {
	scheduleSettings
	Source string        `arg:"" help:"The source whose upstream misbehaves."`
	Kind   string        `arg:"" help:"Late: it publishes nothing new. Revised: its newest figures change. Malformed: it answers with a web page. Shrunk: it loses its history, except the last year. Away: it is down."`
	Until  time.Time     `format:"2006-01-02T15:04:05Z07:00" xor:"end" help:"When it ends, in the sandbox's time (RFC 3339). Default: when it is cleared."`
	For    time.Duration `xor:"end" help:"How long it lasts, such as 2h."`
}

// Run makes an upstream fail from now on.
func (c sandboxFault) Run(ctx context.Context, p *program) error {
	if err := p.inSandbox(); err != nil {
		return err
	}
	if err := oneOf("SOURCE", c.Source, p.faultable()...); err != nil {
		return err
	}
	if err := oneOf("KIND", c.Kind, world.Late, world.Revised, world.Malformed, world.Shrunk, world.Unavailable); err != nil {
		return err
	}
	if kinds := sources.FaultsOf(c.Source); !slices.Contains(kinds, c.Kind) {
		return usageError{fmt.Errorf("the upstream of %s cannot be %s, only %s", c.Source, c.Kind, strings.Join(kinds, ", "))}
	}
	return p.withDB(ctx, func(db *postgres.DB) error {
		now, err := p.worldTime(ctx, db)
		if err != nil {
			return err
		}
		one := world.Trouble{Source: c.Source, Kind: c.Kind, Since: now.UTC(), Until: c.Until.UTC(), By: config.Hostname()}
		if c.For != 0 {
			one.Until = one.Since.Add(c.For)
		}
		if !c.Until.IsZero() || c.For != 0 {
			if !one.Until.After(now) {
				return usageError{fmt.Errorf("the end is not after now, which is %s", now.UTC().Format(time.RFC3339))}
			}
		} else {
			one.Until = time.Time{}
		}
		list, err := world.ReadTroubles(p.troublesFile())
		if err != nil {
			return err
		}
		rest, _ := world.Without(list, c.Source)
		if err := world.SaveTroubles(p.troublesFile(), append(rest, one)); err != nil {
			return fmt.Errorf("%w (is STATE_DIR the folder of the workers?)", err)
		}
		until := "until `tidemark sandbox clear " + c.Source + "`"
		if !one.Until.IsZero() {
			until = "until " + one.Until.Format(time.RFC3339)
		}
		_, err = fmt.Fprintf(p.stdout, "the upstream of %s is %s from %s on, %s (%s)\n", c.Source, c.Kind,
			one.Since.Format(time.RFC3339), until, p.seeFault(c.Source))
		return err
	})
}

type sandboxClear struct {
	scheduleSettings
	Source string `arg:"" optional:"" help:"The source. Default: all."`
}

// Run ends faults.
func (c sandboxClear) Run(_ context.Context, p *program) error {
	if err := p.inSandbox(); err != nil {
		return err
	}
	if err := oneOf("SOURCE", c.Source, p.faultable()...); err != nil {
		return err
	}
	list, err := world.ReadTroubles(p.troublesFile())
	if err != nil {
		return err
	}
	rest, had := world.Without(list, c.Source)
	switch {
	case c.Source == "":
		if err := os.Remove(p.troublesFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear the faults of the sandbox: %w", err)
		}
		_, err = fmt.Fprintf(p.stdout, "%s\n", map[bool]string{true: "1 upstream behaves again", false: fmt.Sprintf("%d upstreams behave again", len(list))}[len(list) == 1])
		return err
	case !had:
		return fmt.Errorf("the upstream of %s behaves%s", c.Source, nearest.Suggest(c.Source, troubled(list)...))
	}
	if err := world.SaveTroubles(p.troublesFile(), rest); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "the upstream of %s behaves again\n", c.Source)
	return err
}

func troubled(list []world.Trouble) (ids []string) {
	for _, t := range list {
		ids = append(ids, t.Source)
	}
	return ids
}

type sandboxFaults struct{ format }

// Run prints the faults, including faults that are over.
func (c sandboxFaults) Run(_ context.Context, p *program) error {
	if err := p.inSandbox(); err != nil {
		return err
	}
	list, err := world.ReadTroubles(p.troublesFile())
	if err != nil {
		return err
	}
	t := newTable("source", "kind", "since", "until", "by")
	for _, one := range list {
		var until *time.Time
		if !one.Until.IsZero() {
			until = &one.Until
		}
		t.add(one.Source, one.Kind, one.Since, until, one.By)
	}
	return c.list(p.stdout, t)
}
