package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/sources"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// version is set by the linker for a release.
var version = "dev"

// codeVersion identifies the program that computed a result: the version and, if the build knows it, the commit.
func codeVersion() string {
	if c := commit(); len(c) >= 12 {
		return version + "+" + c[:12]
	}
	return version
}

// commit returns the commit of the build, empty if unknown.
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}

// Run prints the version.
func (versionCommand) Run(p *program) error {
	info, _ := debug.ReadBuildInfo()
	_, err := fmt.Fprintf(p.stdout, "tidemark %s (%s)\n", codeVersion(), info.GoVersion)
	return err
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// sources returns the upstreams of this installation, to list them and to parse their answers. It leaves out sources whose terms the
// operator has not accepted yet. Requests to them need keyed.
func (p *program) sources() []ingest.Source { return p.accepted(config.Upstreams{}) }

// keyed returns the sources with the operator's keys.
func (p *program) keyed() []ingest.Source { return p.accepted(p.settings.Upstreams) }

func (p *program) accepted(keys config.Upstreams) []ingest.Source {
	list := sources.All(keys)
	if p.settings.World == "live" {
		list = slices.DeleteFunc(list, func(s ingest.Source) bool { return s.TermsSetting != "" && !p.settings.Accepts(s.TermsSetting) })
	}
	return list
}

// sourceIDs returns the ids of all sources of signals.
func sourceIDs() (ids []string) {
	for _, s := range sources.All(config.Upstreams{}) {
		ids = append(ids, s.ID)
	}
	return ids
}

func (p *program) definitions() []signals.Definition { return signals.All() }

// worldDir returns the folder of everything that this world keeps on disk.
func (p *program) worldDir() string { return filepath.Join(p.settings.StateDir, p.settings.World) }

// connections holds the addresses of a running up's private servers. up writes them for the other commands.
type connections struct {
	DatabaseURL string `json:"database_url"`
	RedisURL    string `json:"redis_url"`
	// The logins of the roles at the same database.
	DatabaseAPIURL    string `json:"database_api_url,omitempty"`
	DatabaseWorkerURL string `json:"database_worker_url,omitempty"`
	// The development chain of a sandbox, and the file with the key of its attester. Empty if the settings name another chain.
	BaseRPCURL      string `json:"base_rpc_url,omitempty"`
	BaseChainID     uint64 `json:"base_chain_id,omitempty"`
	AttesterKeyFile string `json:"attester_key_file,omitempty"`
}

func (p *program) connectionsFile() string { return filepath.Join(p.worldDir(), "connections.json") }

func (p *program) saveConnections(c connections) error {
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("save the connections: %w", err)
	}
	if err := os.WriteFile(p.connectionsFile(), b, 0o600); err != nil {
		return fmt.Errorf("save the connections (STATE_DIR): %w", err)
	}
	return nil
}

// connections reads the file that the newest `up` of this world wrote. Without such a file, the error is fs.ErrNotExist.
func (p *program) connections() (c connections, err error) {
	b, err := os.ReadFile(p.connectionsFile())
	if err != nil {
		return c, fmt.Errorf("read the connections (STATE_DIR): %w", err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", p.connectionsFile(), err)
	}
	return c, nil
}

// databaseURL returns DATABASE_URL, or the URL of the private Postgres of this world's `up`.
func (p *program) databaseURL() (string, error) {
	if p.settings.DatabaseURL != "" {
		return p.settings.DatabaseURL, nil
	}
	c, err := p.connections()
	if errors.Is(err, fs.ErrNotExist) {
		return "", usageError{fmt.Errorf("DATABASE_URL is not set, and no `tidemark up --world=%s` has run with STATE_DIR %s", p.settings.World, p.settings.StateDir)}
	}
	return c.DatabaseURL, err
}

// environment returns the record's label: live for the live world, demo for worlds with synthetic or past data.
func (p *program) environment() string {
	if p.settings.World == "live" {
		return "live"
	}
	return "demo"
}

// worldTime returns the time of the database's world.
func (p *program) worldTime(ctx context.Context, db *postgres.DB) (time.Time, error) {
	w, err := db.World(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if w.ClockAt != nil {
		return *w.ClockAt, nil
	}
	return p.now().UTC().Truncate(time.Microsecond), nil
}
