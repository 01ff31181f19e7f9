package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/sources"
	"tidemark/internal/config"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
)

type doctorCommand struct {
	config.Stored
	config.Redis
	config.Replica
	config.Archive
	config.Licences
	config.Companies
	config.Clock
	config.Remote
	config.Alerts
	format
}

// errUnhealthy reports that a check of the doctor failed; the failures were printed before.
var errUnhealthy = errors.New("a check failed: see above")

// Run checks everything that an installation needs, and prints a line for each check with the repair. It changes nothing.
func (c doctorCommand) Run(ctx context.Context, p *program) error {
	checks := []ops.Check{{Name: "settings", Run: p.checkSettings}}
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		checks = append(checks, ops.Check{Name: "database", Run: func(context.Context) []ops.Finding {
			return ops.Result(ops.Bad, "check "+p.databaseSetting(postgres.RoleWorker)+", start Postgres, run `tidemark migrate`", "%v", err)
		}})
	} else {
		defer db.Close()
		checks = append(checks, p.databaseChecks(ctx, db)...)
	}
	checks = append(checks,
		ops.Check{Name: "redis", Run: p.checkRedis},
		ops.Check{Name: "archive", Run: func(ctx context.Context) []ops.Finding { return p.checkArchive(ctx, db) }},
		ops.Check{Name: "disk", Run: p.checkDisks})
	var findings []object
	show := func(f ops.Finding) error {
		findings = append(findings, one("name", f.Name, "outcome", f.Outcome, "text", f.Text, "repair", unset(f.Repair)))
		return nil
	}
	if !c.JSON {
		show = func(f ops.Finding) error { return ops.Print(p.stdout, f) }
	}
	healthy, err := ops.RunChecks(ctx, checks, show)
	if err == nil && c.JSON {
		err = writeJSON(p.stdout, findings)
	}
	if err == nil && !healthy {
		err = errUnhealthy
	}
	return err
}

// databaseChecks returns the checks that need the database. The server's own data are read once.
func (p *program) databaseChecks(ctx context.Context, db *postgres.DB) []ops.Check {
	failed := func(name string, err error) ops.Check {
		return ops.Check{Name: name, Run: func(context.Context) []ops.Finding {
			return ops.Result(ops.Bad, "check "+p.databaseSetting(postgres.RoleWorker)+" and the server's log", "%v", err)
		}}
	}
	c, err := db.Checkup(ctx, p.now)
	if err != nil {
		return []ops.Check{failed("database", err)}
	}
	checks := append(ops.ServerChecks(c), ops.Check{Name: "replica", Run: func(ctx context.Context) []ops.Finding {
		return p.checkReplica(ctx, db, c)
	}}, ops.Check{Name: "api role", Run: p.checkAPIRole}, ops.Check{Name: "worker role", Run: func(ctx context.Context) []ops.Finding {
		return p.checkWorkerRole(ctx, db)
	}}, ops.Check{Name: "schedule", Run: func(ctx context.Context) []ops.Finding {
		return p.checkSchedule(ctx, db)
	}})
	state, err := p.observer(db).Observe(ctx)
	if err != nil {
		return append(checks, failed("state", err))
	}
	return append(checks, ops.StateChecks(state, p.alertLimits(), p.unasked())...)
}

// unasked returns the sources whose terms are not accepted, with the signals that lack their data.
func (p *program) unasked() (list []ops.Unasked) {
	asked, all := p.sources(), sources.All(config.Upstreams{})
	signals := dependents(all, p.definitions())
	for _, s := range all {
		if !slices.ContainsFunc(asked, func(a ingest.Source) bool { return a.ID == s.ID }) {
			list = append(list, ops.Unasked{Source: s.ID, Setting: s.TermsSetting, Signals: signals[s.ID]})
		}
	}
	return list
}

// checkSettings reports settings that are not set. Invalid settings have ended the program before.
func (p *program) checkSettings(context.Context) []ops.Finding {
	list := ops.Result(ops.Healthy, "", "world %s, version %s", p.settings.World, codeVersion())
	for _, why := range p.missingEquitySettings() {
		list = append(list, ops.Finding{Outcome: ops.Warning, Text: "there will be no picks: " + why})
	}
	if p.settings.World == "live" && p.settings.LedgerRemote == "" {
		list = append(list, ops.Finding{Outcome: ops.Warning, Text: "LEDGER_REMOTE is not set: nobody else sees the ledger", Repair: "docs/outside-records.md"})
	}
	if p.settings.World == "live" && p.settings.AlertWebhookURL == "" && p.settings.AlertSMTPURL == "" {
		list = append(list, ops.Finding{Outcome: ops.Warning, Text: "alerts are only logged", Repair: "set ALERT_WEBHOOK_URL or ALERT_SMTP_URL"})
	}
	return list
}

// checkAPIRole connects with the API's role.
func (p *program) checkAPIRole(ctx context.Context) []ops.Finding {
	db, err := p.openDB(ctx, postgres.RoleAPI)
	if err != nil {
		return ops.Result(ops.Bad, "set DATABASE_API_URL to a URL with the user tidemark_api, then run `tidemark migrate`", "%v", err)
	}
	defer db.Close()
	return ops.Result(ops.Healthy, "", "the API can connect, by a login that can do nothing more")
}

// checkWorkerRole checks whether the login of schedulers, workers and commands has more privileges than it needs.
func (p *program) checkWorkerRole(ctx context.Context, db *postgres.DB) []ops.Finding {
	e, err := db.Powers(ctx, postgres.RoleWorker)
	switch {
	case err != nil:
		return ops.Result(ops.Bad, "check "+p.databaseSetting(postgres.RoleWorker), "%v", err)
	case len(e.Powers) > 0:
		return ops.Result(ops.Warning, "set DATABASE_WORKER_URL to a URL with the user tidemark_worker, then run `tidemark migrate`", "%v", &e)
	}
	return ops.Result(ops.Healthy, "", "%s can do nothing more", e.Login)
}

// schedulerSlack is the maximum delay of recording a slot. After it, the schedulers count as not running.
const schedulerSlack = 2 * time.Minute

// checkSchedule checks whether slots are recorded on time.
func (p *program) checkSchedule(ctx context.Context, db *postgres.DB) []ops.Finding {
	list, err := db.Schedules(ctx)
	if err != nil {
		return ops.Result(ops.Bad, "check "+p.databaseSetting(postgres.RoleWorker), "%v", err)
	}
	if len(list) == 0 {
		return ops.Result(ops.Bad, "start `tidemark scheduler`", "no scheduler has ever run")
	}
	at, err := p.worldTime(ctx, db)
	if err != nil {
		return ops.Result(ops.Bad, "start `tidemark scheduler`", "%v", err)
	}
	pauses, err := db.Pauses(ctx)
	if err != nil {
		return ops.Result(ops.Bad, "check "+p.databaseSetting(postgres.RoleWorker), "%v", err)
	}
	known := map[string]task.Schedule{}
	for _, s := range list {
		known[s.Job+" "+s.Subject] = s
	}
	var found []ops.Finding
	for _, s := range p.schedule() {
		name := s.Job + " " + s.Subject
		k, ok := known[name]
		switch {
		case !ok:
			found = append(found, ops.Finding{Outcome: ops.Bad, Text: name + " is not in the database's schedule", Repair: "start `tidemark scheduler` of this version"})
		case k.Paused:
			found = append(found, ops.Finding{Outcome: ops.Warning, Text: name + " is paused " + pauses[[2]string{s.Job, s.Subject}].String(), Repair: "tidemark schedule resume " + name + " --reason WHY"})
		case k.LastSlot != nil && at.Sub(nextSlot(k, *k.LastSlot)) > schedulerSlack && p.settings.World == "live":
			found = append(found, ops.Finding{
				Outcome: ops.Bad, Text: fmt.Sprintf("%s was due at %s and is not recorded", name, nextSlot(k, *k.LastSlot).UTC().Format(time.RFC3339)),
				Repair: "start `tidemark scheduler`; missed slots are caught up",
			})
		}
	}
	if found == nil {
		return ops.Result(ops.Healthy, "", "%d schedules, recorded as they come", len(list))
	}
	return found
}

func (p *program) checkRedis(ctx context.Context) []ops.Finding {
	address := p.redisOfDatabase()
	if address == "" {
		return ops.Result(ops.Bad, "set REDIS_URL", "REDIS_URL is not set, and no `tidemark up` of this world has run")
	}
	at, err := redisurl.Parse(address)
	if err != nil {
		return ops.Result(ops.Bad, "set REDIS_URL", "%v", err)
	}
	began := p.now()
	if err := p.pingRedis(ctx, at); err != nil {
		return ops.Result(ops.Bad, "check REDIS_URL and start Redis; nothing is lost, runs wait in Postgres", "REDIS_URL: %v", err)
	}
	return ops.Result(ops.Healthy, "", "%s, answers in %s", at.Kind(), p.now().Sub(began).Round(100*time.Microsecond))
}

// checkArchive writes a trial file to the archive, in the place of the last one, and reads it again. db is nil if the
// database is unavailable.
func (p *program) checkArchive(ctx context.Context, db *postgres.DB) []ops.Finding {
	if db == nil {
		return ops.Result(ops.Skipped, "", "the database is away, which says what the archive should hold")
	}
	if p.settings.World != "live" && p.settings.ArchiveURL == "" {
		newest, err := db.NewestBodies(ctx, 1)
		if _, gone := os.Stat(p.archiveURL()); err == nil && len(newest) == 0 && errors.Is(gone, os.ErrNotExist) {
			return ops.Result(ops.Skipped, "", "this world has archived nothing yet")
		}
	}
	store, err := p.openArchive(ctx, db)
	if err != nil {
		return ops.Result(ops.Bad, "set ARCHIVE_URL to the folder or bucket of the archive", "%v", err)
	}
	defer func() { _ = store.Close() }()
	list := probe(ctx, store, "ARCHIVE_URL", "it can be written and read")
	if colder := store.ColdStore(); colder != nil {
		list = append(list, probe(ctx, colder, "ARCHIVE_COLD_URL", "the colder one can be written and read")...)
	}
	return list
}

func probe(ctx context.Context, store *archive.Store, setting, healthy string) []ops.Finding {
	write, read := store.Try(ctx)
	switch {
	case errors.Is(write, syscall.ENOSPC):
		return ops.Result(ops.Bad, "make room at "+setting, "the disk is full: %v", write)
	case write != nil:
		return ops.Result(ops.Bad, "let this user write to the archive of "+setting, "it cannot be written: %v", write)
	case read != nil:
		return ops.Result(ops.Bad, "check the storage of "+setting, "what was written cannot be read: %v", read)
	}
	return ops.Result(ops.Healthy, "", "%s", healthy)
}

// lowDisk is the minimum free space of a disk, in bytes.
const lowDisk = 2 << 30

// checkDisks checks the free space of STATE_DIR and of the folder of ARCHIVE_URL.
func (p *program) checkDisks(context.Context) []ops.Finding {
	list := checkDisk("STATE_DIR", p.settings.StateDir)
	for _, a := range []address{{"ARCHIVE_URL", p.settings.ArchiveURL}, {"ARCHIVE_COLD_URL", p.settings.ColdURL}} {
		if dir, err := archive.LocalFolder(a.addr); err == nil && dir != "" { // the check of the archive tells of an error
			list = append(list, checkDisk(a.setting, dir)...)
		}
	}
	return list
}

// checkDisk checks the free space of a folder that a setting names.
func checkDisk(setting, dir string) []ops.Finding {
	if _, err := os.Stat(dir); err != nil {
		return ops.Result(ops.Skipped, "", "%s %s is not there yet", setting, dir)
	}
	free, err := freeBytes(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return ops.Result(ops.Skipped, "", "this system does not say how much room there is")
	case err != nil:
		return ops.Result(ops.Warning, "", "%v", err)
	case free < lowDisk:
		return ops.Result(ops.Bad, "make room at "+setting, "%d MB are left at %s", free>>20, dir)
	}
	return ops.Result(ops.Healthy, "", "%d GB are left at %s", free>>30, dir)
}
