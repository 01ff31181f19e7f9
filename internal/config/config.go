// Package config is the one struct of settings. Each field is a setting: an environment variable, a line of the .env file and a
// flag of the same name, in rising precedence flag, environment, .env, default. It is filled once, in main, validated whole, and
// read by nobody later. Start at Settings.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/joho/godotenv"
)

// Settings holds every setting. The tag `roles` names who reads it, `secret` keeps its value out of every output.
type Settings struct {
	World string `env:"WORLD" default:"live" roles:"all" help:"Where upstream bytes come from: live, replay (an archive folder) or sandbox (made up, and marked so)."`

	Addr        string `env:"ADDR" default:"127.0.0.1:8080" roles:"up,api" help:"Address that the public API and pages listen on."`
	SignalsAddr string `env:"SIGNALS_ADDR" roles:"up,api" help:"A second address that serves the Signals API at its root."`
	PublicURL   string `env:"PUBLIC_URL" roles:"up,api" help:"Base URL that answers carry in their links. Default: http:// and ADDR."`

	StateDir    string `env:"STATE_DIR" default:".tidemark" roles:"all" help:"Folder for everything kept on disk; each world has a folder of its own below it."`
	DatabaseURL string `env:"DATABASE_URL" secret:"true" roles:"all" help:"Postgres. Without it, up runs a private server from the binaries found on the machine."`
	RedisURL    string `env:"REDIS_URL" secret:"true" roles:"up,scheduler,worker" help:"Redis. Without it, up runs a private redis-server, or a stand-in inside the process."`
	ArchiveURL  string `env:"ARCHIVE_URL" roles:"up,worker" help:"Where raw bytes are kept: a folder or a bucket URL. Default: the folder archive in the world's state folder."`

	Archive      string        `env:"REPLAY_ARCHIVE" name:"archive" roles:"up,worker" help:"The archive folder that the replay world answers from."`
	At           time.Time     `env:"REPLAY_AT" name:"at" format:"2006-01-02T15:04:05Z07:00" roles:"up,scheduler,worker" help:"The replay world's time (RFC 3339). Default: the archive's last fetch."`
	SandboxSeed  uint64        `env:"SANDBOX_SEED" default:"1" roles:"up,worker" help:"What the sandbox's numbers are drawn from."`
	SandboxDays  int           `env:"SANDBOX_DAYS" default:"120" roles:"up" help:"How many days of history a new sandbox lives through, at high speed, before it follows the wall clock."`
	SandboxDelay time.Duration `env:"SANDBOX_DELAY" default:"0s" roles:"up,worker" help:"How long a sandbox upstream takes to answer."`

	EIAAPIKey    string `env:"EIA_API_KEY" name:"eia-api-key" secret:"true" roles:"up,worker" help:"Key of the EIA API v2. Without it the public history pages are read."`
	NASSAPIKey   string `env:"NASS_API_KEY" name:"nass-api-key" secret:"true" roles:"up,worker" help:"Key of the NASS Quick Stats API. Without it the public query form is used."`
	PortWatchAck string `env:"PORTWATCH_LICENSE_ACK" name:"portwatch-license-ack" roles:"up,scheduler,worker" help:"yes: this service may use IMF PortWatch, whose terms allow non-commercial and research use. Without it hormuz-transit gets no data outside the sandbox and replay worlds."`
	UserAgent    string `env:"USER_AGENT" roles:"up,worker" help:"How upstreams see this program; give a way to reach you. Default: Tidemark and PUBLIC_URL."`

	Concurrency int    `env:"CONCURRENCY" default:"4" roles:"up,worker" help:"How many tasks a worker runs at once."`
	LogFormat   string `env:"LOG_FORMAT" enum:"auto,text,json" default:"auto" roles:"all" help:"auto (text on a terminal, else JSON), text or json."`
	LogLevel    string `env:"LOG_LEVEL" enum:"debug,info,warn,error" default:"info" roles:"all" help:"debug, info, warn or error."`
}

// LoadEnvFile adds the settings of a .env file to the environment, which wins. A missing file is no error.
func LoadEnvFile(path string) error {
	err := godotenv.Load(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Validate checks all settings and reports every fault at once, each with the setting's name.
func (s Settings) Validate() error {
	var errs []error
	bad := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf(name+": "+format, args...))
	}
	switch s.World {
	case "live", "sandbox":
		if s.Archive != "" {
			bad("REPLAY_ARCHIVE", "it is read in the replay world only, WORLD is %s", s.World)
		}
		if !s.At.IsZero() {
			bad("REPLAY_AT", "it is read in the replay world only, WORLD is %s", s.World)
		}
	case "replay":
	default:
		bad("WORLD", "%q is none of live, replay, sandbox", s.World)
	}
	for _, a := range []struct{ name, value string }{{"ADDR", s.Addr}, {"SIGNALS_ADDR", s.SignalsAddr}} {
		if a.value == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(a.value); err != nil {
			bad(a.name, "%q is no host:port", a.value)
		}
	}
	if s.PublicURL != "" {
		if u, err := url.Parse(s.PublicURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			bad("PUBLIC_URL", "%q is no http or https URL", s.PublicURL)
		}
	}
	if s.SandboxDays < 0 {
		bad("SANDBOX_DAYS", "%d is negative", s.SandboxDays)
	}
	if s.Concurrency < 1 {
		bad("CONCURRENCY", "%d is less than 1", s.Concurrency)
	}
	return errors.Join(errs...)
}

// BaseURL is PublicURL without a final slash, or what follows from Addr.
func (s Settings) BaseURL() string {
	if s.PublicURL != "" {
		return strings.TrimRight(s.PublicURL, "/")
	}
	return "http://" + s.Addr
}

// Setting is one line of `tidemark help settings`.
type Setting struct {
	Name, Default, Help, Roles string
	// Value is what holds; "(set)" for a secret that is given.
	Value string
}

// List describes every setting, in the order of the struct.
func (s Settings) List() []Setting {
	v := reflect.ValueOf(s)
	list := make([]Setting, 0, v.NumField())
	for i, f := range reflect.VisibleFields(v.Type()) {
		one := Setting{
			Name: f.Tag.Get("env"), Default: f.Tag.Get("default"), Help: f.Tag.Get("help"), Roles: f.Tag.Get("roles"),
			Value: fmt.Sprint(v.Field(i).Interface()),
		}
		if t, ok := reflect.TypeAssert[time.Time](v.Field(i)); ok && t.IsZero() {
			one.Value = ""
		}
		if f.Tag.Get("secret") != "" && one.Value != "" {
			one.Value = "(set)"
		}
		list = append(list, one)
	}
	return list
}

// Hostname names the machine in the run log.
func Hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return h
}
