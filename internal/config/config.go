// Package config holds the settings, in groups. Each field is a setting. Its value comes from the flag, the environment variable or the
// line of the .env file of the same name, in this order. A command embeds the groups that it reads. The program fills and validates them
// once, in main. Start at Settings.
package config

import (
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joho/godotenv"

	"tidemark/internal/nearest"
)

// LoadEnvFile adds the settings of a .env file to the environment and returns the names in the file. Variables that are already set keep
// their value. A missing file is not an error.
func LoadEnvFile(path string) (names []string, err error) {
	given, err := godotenv.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for name, value := range given {
		names = append(names, name)
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Defaults returns the settings with their default values.
func Defaults() (Settings, error) {
	var s Settings
	v := reflect.ValueOf(&s).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		text := f.Tag.Get("default")
		if text == "" {
			continue
		}
		var err error
		switch to := v.FieldByIndex(f.Index).Addr().Interface().(type) {
		case *string:
			*to = text
		case *time.Duration:
			*to, err = time.ParseDuration(text)
		case encoding.TextUnmarshaler:
			err = to.UnmarshalText([]byte(text))
		default:
			_, err = fmt.Sscan(text, to)
		}
		if err != nil {
			return s, fmt.Errorf("the default of %s: %w", f.Tag.Get("env"), err)
		}
	}
	return s, nil
}

// Take copies into s the settings that a command embeds, and returns their names.
func (s *Settings) Take(command reflect.Value) (names []string) {
	all := reflect.ValueOf(s).Elem()
	for i := range command.NumField() {
		switch f := command.Type().Field(i); {
		case f.Tag.Get("env") != "":
			all.FieldByName(f.Name).Set(command.Field(i))
			names = append(names, f.Tag.Get("env"))
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			names = append(names, s.Take(command.Field(i))...)
		}
	}
	return names
}

// maxSandboxDays is about 27 years: the exchange's calendar begins in 1990, and the first day looks back over years of prices.
const maxSandboxDays = 10_000

// Validate checks the named settings, or all settings if no name is given. It reports every invalid value at once, each with the setting's
// name.
func (s Settings) Validate(names ...string) error {
	var errs []error
	reads := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	bad := func(name, format string, args ...any) {
		if reads(name) {
			errs = append(errs, fmt.Errorf(name+": "+format, args...))
		}
	}
	s.checkURLs(bad)
	if fault := s.contactFault(); fault != "" {
		bad("CONTACT", "%s", fault)
	}
	switch s.World {
	case "live", "sandbox":
		if s.ReplayArchive != "" {
			bad("REPLAY_ARCHIVE", "it is read in the replay world only, WORLD is %s", s.World)
		}
		if !s.ReplayAt.IsZero() {
			bad("REPLAY_AT", "it is read in the replay world only, WORLD is %s", s.World)
		}
	case "replay":
	default:
		bad("WORLD", "%q is not one of live, replay, sandbox%s", s.World, nearest.Suggest(s.World, "live", "replay", "sandbox"))
	}
	for _, a := range []struct{ name, value string }{{"ADDR", s.Addr}, {"SIGNALS_ADDR", s.SignalsAddr}, {"OPS_ADDR", s.OpsAddr}} {
		if a.value == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(a.value); err != nil {
			bad(a.name, "%q is not host:port", a.value)
		}
	}
	if n := len(s.OpsToken); n > 0 && n < 20 {
		bad("OPS_TOKEN", "it has %d characters, which can be guessed: 20 or more (openssl rand -hex 20)", n)
	}
	if s.LogOrigin != "" && !isLogOrigin(s.LogOrigin) {
		bad("LOG_ORIGIN", "%q is not a host and a path such as tidemark.example/log", s.LogOrigin)
	}
	if (s.LogOrigin == "") != (s.LogKeyFile == "") {
		bad("LOG_ORIGIN", "it goes together with LOG_KEY_FILE")
	}
	if s.LogWitnesses != "" && s.LogOrigin == "" {
		bad("LOG_WITNESSES", "without LOG_ORIGIN there is no log to cosign")
	}
	if s.TSAURL != "" && s.LogOrigin == "" && s.World != "sandbox" {
		bad("TSA_URL", "without LOG_ORIGIN there is no log to stamp")
	}
	if s.TSACAFile != "" && s.TSAURL == "" {
		bad("TSA_CA_FILE", "it goes together with TSA_URL")
	}
	if s.SandboxDays < 0 || s.SandboxDays > maxSandboxDays {
		bad("SANDBOX_DAYS", "%d is not a number of days from 0 to %d", s.SandboxDays, maxSandboxDays)
	}
	if strings.TrimSpace(s.StateDir) == "" {
		bad("STATE_DIR", "it is empty: name a folder, or leave it out for .tidemark")
	}
	for _, a := range []struct{ name, value string }{{"EAS_ADDRESS", s.EASAddress}, {"EAS_SCHEMA_REGISTRY", s.EASSchemaRegistry}} {
		if !isAddress(a.value) {
			bad(a.name, "%q is not an address (0x and 40 hex digits)", a.value)
		}
	}
	if s.AttesterDailyGwei < 1 || s.AttesterDailyGwei > math.MaxInt64/1_000_000_000 {
		bad("ATTESTER_DAILY_GWEI", "%d is not an amount from 1 to %d", s.AttesterDailyGwei, math.MaxInt64/1_000_000_000)
	}
	if s.AttesterMaxGwei < 1 || s.AttesterMaxGwei > 1e6 {
		bad("ATTESTER_MAX_GWEI", "%d is not an amount from 1 to 1000000", s.AttesterMaxGwei)
	}
	if s.BillingModel != "" && s.BillingModel != "balance" && s.BillingModel != "plan" {
		bad("BILLING_MODEL", "%q is none of balance, plan%s", s.BillingModel, nearest.Suggest(s.BillingModel, "balance", "plan"))
	}
	if s.Pages != "" && s.Pages != "free" && s.Pages != "full" {
		bad("PAGES", "%q is none of free, full%s", s.Pages, nearest.Suggest(s.Pages, "free", "full"))
	}
	if _, err := s.Clocks(); err != nil && reads("PICK_AT") {
		errs = append(errs, err)
	}
	if _, err := s.Proxies(); err != nil {
		bad("TRUSTED_PROXIES", "%w", err)
	}
	for _, o := range s.MCPOrigins() {
		if u, err := url.Parse(o); o != "*" && (err != nil || u.Host == "" || u.Scheme+"://"+u.Host != o) {
			bad("MCP_ALLOWED_ORIGINS", "%q is neither an origin such as https://example.com nor *", o)
		}
	}
	if s.MCPRegistryKey != "" && !strings.HasPrefix(s.MCPRegistryKey, "v=MCPv1; ") {
		bad("MCP_REGISTRY_KEY", "%q does not begin with v=MCPv1;", s.MCPRegistryKey)
	}
	if s.SECUserAgent != "" && !strings.Contains(s.SECUserAgent, "@") {
		bad("SEC_USER_AGENT", "%q names no address to write to, such as in \"Example Research admin@example.com\"", s.SECUserAgent)
	}
	switch s.PricesPersonalUse {
	case "", "yahoo", "nasdaq":
	default:
		bad("PRICES_PERSONAL_USE", "%q is none of yahoo, nasdaq%s", s.PricesPersonalUse, nearest.Suggest(s.PricesPersonalUse, "yahoo", "nasdaq"))
	}
	if (s.AlertSMTPURL == "") != (s.AlertMailTo == "") || (s.AlertSMTPURL == "") != (s.AlertMailFrom == "") {
		bad("ALERT_SMTP_URL", "it goes together with ALERT_MAIL_FROM and ALERT_MAIL_TO")
	}
	for _, k := range []struct {
		name string
		days int
	}{{"KEEP_RUNS_DAYS", s.KeepRunsDays}, {"KEEP_USAGE_DAYS", s.KeepUsageDays}, {"KEEP_QUOTES_DAYS", s.KeepQuotesDays}, {"KEEP_ALERTS_DAYS", s.KeepAlertsDays}} {
		if k.days < 0 || k.days > 0 && k.days < 40 {
			bad(k.name, "%d is neither 0 nor 40 or more", k.days) // code that looks back over the last weeks must find them
		}
	}
	if s.WebhooksPrivate && s.World == "live" {
		bad("WEBHOOKS_PRIVATE", "it is only for a sandbox or a replay: anybody can have a key, and so name a webhook")
	}
	s.checkBuckets(bad)
	if early := s.PicksEarly; early != "" && early != "yes" && early != "no" {
		bad("PICKS_EARLY", "%q is not yes or no%s", early, nearest.Suggest(early, "yes", "no"))
	}
	for setting, ack := range s.acknowledgments() {
		if ack != "" && ack != "yes" && ack != "no" {
			bad(setting, "%q is not yes or no%s", ack, nearest.Suggest(ack, "yes", "no"))
		}
	}
	if s.ColdURL != "" && s.ColdURL == s.ArchiveURL {
		bad("ARCHIVE_COLD_URL", "it is ARCHIVE_URL")
	}
	if s.ColdAfter < 1 {
		bad("ARCHIVE_COLD_AFTER_DAYS", "%d is less than 1", s.ColdAfter)
	}
	if s.OTLPEndpoint != "" && s.OTLPTimeout < 1 {
		bad("OTEL_EXPORTER_OTLP_TIMEOUT", "%d is less than 1", s.OTLPTimeout)
	}
	if s.OTelTracesShare < 0 || s.OTelTracesShare > 1 || math.IsNaN(s.OTelTracesShare) {
		bad("OTEL_TRACES_SAMPLER_ARG", "%v is not a number from 0 to 1", s.OTelTracesShare)
	}
	if s.AlertRunwayDays < 1 {
		bad("ALERT_RUNWAY_DAYS", "%d is less than 1", s.AlertRunwayDays)
	}
	if s.AlertBackupHours < 1 {
		bad("ALERT_BACKUP_HOURS", "%d is less than 1", s.AlertBackupHours)
	}
	if s.TimelyConcurrency < 1 {
		bad("TIMELY_CONCURRENCY", "%d is less than 1", s.TimelyConcurrency)
	}
	if s.Concurrency < 1 {
		bad("CONCURRENCY", "%d is less than 1", s.Concurrency)
	}
	return errors.Join(errs...)
}

// isLogOrigin reports whether name can be the name of a log: a URL without scheme and without a slash at the end.
func isLogOrigin(name string) bool {
	u, err := url.Parse("https://" + name)
	return err == nil && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil && !strings.HasSuffix(name, "/") &&
		!strings.ContainsAny(name, " +\t\n") && !strings.Contains(name, "://")
}

// isAddress reports whether a is an account address of the L2 in the usual form: 0x and 40 hex digits.
func isAddress(a string) bool {
	digits, ok := strings.CutPrefix(a, "0x")
	if _, err := hex.DecodeString(digits); err != nil {
		return false
	}
	return ok && len(digits) == 40
}

// BaseRPCURLs returns the addresses of BASE_RPC_URL in their order.
func (s Settings) BaseRPCURLs() []string {
	return strings.FieldsFunc(s.BaseRPCURL, func(r rune) bool { return r == ',' || r == ' ' })
}

// MonitorRPCs returns the addresses of MONITOR_RPC in their order.
func (s Settings) MonitorRPCs() []string {
	return strings.FieldsFunc(s.MonitorRPC, func(r rune) bool { return r == ',' || r == ' ' })
}

// MCPOrigins returns the origins of MCP_ALLOWED_ORIGINS in their order.
func (s Settings) MCPOrigins() []string {
	return strings.FieldsFunc(s.MCPAllowedOrigins, func(r rune) bool { return r == ',' || r == ' ' })
}

// Environ returns the environment of the process, for programs that it starts.
func Environ() []string { return os.Environ() }

// Manager returns the values that systemd sets for a service of Type=notify. The first is the path of the notification socket, empty if not
// set. The second is the time within which systemd expects a heartbeat, zero if it expects none.
func Manager() (socket string, watchdog time.Duration) {
	if n, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64); err == nil && n > 0 {
		watchdog = time.Duration(n) * time.Microsecond
	}
	return os.Getenv("NOTIFY_SOCKET"), watchdog
}

// FreePages reports whether the pages of a world show only the data that is free without a key.
func (s Settings) FreePages(world string) bool {
	return s.Pages == "free" || s.Pages == "" && world != "sandbox"
}

// EarlyPicks reports whether readers who pay may see a sealed pick before its announcement.
func (s Settings) EarlyPicks() bool { return s.PicksEarly == "yes" }

// BaseURL returns PublicURL without a final slash, or a URL derived from Addr if PublicURL is not set.
func (s Settings) BaseURL() string {
	if s.PublicURL != "" {
		return strings.TrimRight(s.PublicURL, "/")
	}
	return "http://" + s.Addr
}

// Setting is one setting, as `tidemark help settings` shows it.
type Setting struct {
	Name, Default, Help string
	// Value is the current value, or "(set)" for a secret that is set.
	Value string
}

// List returns a description of every setting, in the order of the groups.
func (s Settings) List() (list []Setting) {
	v := reflect.ValueOf(s)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Tag.Get("env") == "" {
			continue // a group
		}
		field := v.FieldByIndex(f.Index)
		one := Setting{Name: f.Tag.Get("env"), Default: f.Tag.Get("default"), Help: f.Tag.Get("help"), Value: fmt.Sprint(field.Interface())}
		if t, ok := reflect.TypeAssert[time.Time](field); ok && t.IsZero() {
			one.Value = ""
		}
		if f.Tag.Get("secret") != "" && one.Value != "" {
			one.Value = "(set)"
		}
		list = append(list, one)
	}
	return list
}

// Hostname returns the machine's name for the run log.
func Hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return h
}
