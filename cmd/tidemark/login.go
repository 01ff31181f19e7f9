package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/internal/postgres"
)

// logins returns the settings with the roles' own logins.
func (p *program) logins() []login {
	return []login{
		{"DATABASE_API_URL", postgres.RoleAPI, &p.settings.DatabaseAPIURL},
		{"DATABASE_WORKER_URL", postgres.RoleWorker, &p.settings.DatabaseWorkerURL},
	}
}

// login is a setting with the database URL of a role.
type login struct {
	setting, role string
	url           *string
}

// allowLogins sets the passwords of the roles to those in the settings. owner is the URL of the login that owns the database.
func (p *program) allowLogins(ctx context.Context, owner string) error {
	for _, l := range p.logins() {
		if *l.url == "" {
			p.log.InfoContext(ctx, "a role has no login of its own (docs/operator.md)", "role", l.role, "setting", l.setting)
			continue
		}
		if err := postgres.AllowLogin(ctx, l.setting, owner, *l.url, l.role); err != nil {
			return err
		}
	}
	return nil
}

// makeLogins is allowLogins for a process with every role: it makes a login for each role without a setting.
func (p *program) makeLogins(ctx context.Context, owner string) error {
	for _, l := range p.logins() {
		if *l.url != "" {
			continue
		}
		url, err := postgres.Login(ctx, owner, l.role)
		if err != nil {
			return fmt.Errorf("%w (or set %s)", err, l.setting)
		}
		*l.url = url
		p.made = append(p.made, l.setting)
	}
	return p.allowLogins(ctx, owner)
}

// loginURL returns the URL of a role's login: its own setting, DATABASE_URL, or the login at the private Postgres of this world's `up`. For
// the last, private is true.
func (p *program) loginURL(role string) (url string, private bool, err error) {
	for _, l := range p.logins() {
		if l.role == role && *l.url != "" {
			return *l.url, false, nil
		}
	}
	if p.settings.DatabaseURL != "" {
		return p.settings.DatabaseURL, false, nil
	}
	if url, err = p.databaseURL(); err != nil {
		return "", true, err
	}
	c, err := p.connections()
	own := c.DatabaseWorkerURL
	if role == postgres.RoleAPI {
		own = c.DatabaseAPIURL
	}
	return cmp.Or(own, url), true, err
}

// databaseSetting returns the setting that holds a role's URL for loginURL.
func (p *program) databaseSetting(role string) string {
	for _, l := range p.logins() {
		if l.role == role && *l.url != "" && !slices.Contains(p.made, l.setting) {
			return l.setting
		}
	}
	return "DATABASE_URL"
}

// watchOwner ends the command if the server of the database's owner is silent for COMMAND_TIMEOUT. The returned function ends the watch.
func (p *program) watchOwner(url string) (stop func()) {
	return postgres.Watch(url, "DATABASE_URL", p.answers, p.giveUp)
}

// giveUp ends the command because a server is silent.
func (p *program) giveUp(err error) {
	if p.cancel != nil {
		p.cancel(unanswered(err))
	}
}

// unanswered adds a hint for the operator to the error of a server that did not answer.
func unanswered(err error) error {
	return fmt.Errorf("%w: is the server frozen, or its machine? (COMMAND_TIMEOUT, or --command-timeout, is how long a command waits)", err)
}

// openDB connects to the database of the settings as a role. It refuses an API login with more privileges than the API needs.
func (p *program) openDB(ctx context.Context, role string) (*postgres.DB, error) {
	url, private, err := p.loginURL(role)
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, url, role, p.connectionOptions(role)...)
	if le, ok := errors.AsType[*postgres.LoginError](err); ok {
		return nil, usageError{fmt.Errorf("%w: name the role's own login by DATABASE_API_URL, and run `tidemark migrate` (docs/operator.md)", le)}
	}
	if se, ok := errors.AsType[*postgres.SilentError](err); ok {
		return nil, unanswered(se)
	}
	if err != nil && private {
		return nil, fmt.Errorf("%w (DATABASE_URL is not set; this is the private server of `tidemark up --world=%s`: is it running?)", err, p.settings.World)
	}
	if err != nil {
		return nil, err
	}
	if err := db.CheckWorld(ctx, p.settings.World); err != nil {
		db.Close()
		if postgres.Transient(err) != "" {
			return nil, err
		}
		return nil, usageError{err}
	}
	return db, nil
}
