package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tidemark/internal/nearest"
)

// shortTypo and longTypo are minimum lengths of a setting's name. From shortTypo characters on, a name with one difference counts as a
// typo; from longTypo on, also a name with two.
const (
	shortTypo = 5
	longTypo  = 10
)

// foreign lists environment variables of other programs whose names are close to names of settings.
var foreign = []string{"PAGER", "PAGED", "PAGE", "WORD", "WORDS", "WORLDS", "CONTRACT", "CONTACTS", "PRICE", "PRICED", "LOGLEVEL", "CONCURRENT", "NASA_API_KEY"}

// libraries lists names that the program's libraries and docker compose read; they are valid in a .env file. A name that ends in _ covers
// every name with this prefix.
var libraries = []string{
	"PG", "AWS_", "OTEL_", "COMPOSE_", "DOCKER_", "GIT_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "TZ", "GODEBUG", "GOMEMLIMIT",
	"GOMAXPROCS", "GOGC", "GOTRACEBACK", "SSH_", "HOME", "PATH", "TMPDIR", "CREDENTIALS_DIRECTORY",
}

// compose lists the variables that docker-compose.yml reads in addition to settings.
var compose = []string{"POSTGRES_PASSWORD", "POSTGRES_API_PASSWORD", "POSTGRES_WORKER_PASSWORD", "REDIS_PASSWORD", "GRAFANA_PASSWORD", "API_ARCHIVE_URL", "API_AWS_ACCESS_KEY_ID", "API_AWS_SECRET_ACCESS_KEY"}

// Mistyped returns a message for each name that looks like a typo of a setting that is not set. Other names in environ belong to other
// programs. file has the names of a .env file. Only this program reads that file, so every unknown name in it is a fault.
func Mistyped(environ, file []string) (faults []string) {
	given := map[string]bool{}
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		given[name] = true
	}
	var known []string
	for _, s := range (Settings{}).List() {
		known = append(known, s.Name)
	}
	for _, name := range file {
		if !slices.Contains(known, name) && !slices.Contains(compose, name) && !ofLibrary(name) {
			faults = append(faults, fmt.Sprintf("%s in .env is not a setting%s (See `tidemark help settings`.)", name,
				cmp.Or(nearest.Suggest(name, slices.Concat(known, compose)...), suggest(ofWord(name, known)), ".")))
		}
		delete(given, name)
	}
	for name := range given {
		if slices.Contains(known, name) || slices.Contains(compose, name) || slices.Contains(foreign, name) {
			continue
		}
		near, least := "", 3
		word, _, _ := strings.Cut(name, "_")
		hasWord := ofWord(name, known) != "" // OPS_ADDRESS is rather OPS_ADDR than EAS_ADDRESS
		for _, setting := range known {
			// The name is a setting without its last word, such as ALERT_WEBHOOK. A single word is not enough to decide.
			if strings.HasPrefix(setting, name+"_") && strings.Contains(name, "_") && !ofLibrary(name) {
				near = setting
				break
			}

			if len(name)-len(setting) > 2 || len(setting)-len(name) > 2 { // more than a slip
				continue
			}
			d := nearest.Distance(name, setting)
			slip := d == 1 && len(setting) >= shortTypo || d == 2 && len(setting) >= longTypo
			if slip && d < least && (!hasWord || strings.HasPrefix(setting, word+"_")) {
				near, least = setting, d
			}
		}
		if near == "" {
			near = ofFamily(name, known)
		}
		if near == "" || given[near] || slices.Contains(file, near) {
			continue
		}
		faults = append(faults, fmt.Sprintf("%s is not a setting; did you mean %s? (Unset it where it belongs to another program.)", name, near))
	}
	slices.Sort(faults)
	return faults
}

// families are prefixes of settings that no other program uses.
var families = []string{"ALERT_", "ARCHIVE_", "ATTESTER_", "SANDBOX_", "X402_"}

// ofFamily returns the closest setting for a name with a prefix that only settings have.
func ofFamily(name string, known []string) string {
	for _, f := range families {
		if !strings.HasPrefix(name, f) {
			continue
		}
		near, least := "", 1<<30
		for _, setting := range known {
			if !strings.HasPrefix(setting, f) {
				continue
			}
			if d := nearest.Distance(name, setting); d < least {
				near, least = setting, d
			}
		}
		return near
	}
	return ""
}

// Doubt is a name in the environment that may be meant as a setting.
type Doubt struct{ Name, Setting string }

// Doubtful returns the names in environ that may be meant as a setting that is not set, but that another program may read as well. It
// compares with the settings in reads only. Names that Mistyped reports are left out.
func Doubtful(environ, file, reads []string) (doubts []Doubt) {
	given := map[string]bool{}
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		given[name] = true
	}
	var known []string
	for _, s := range (Settings{}).List() {
		known = append(known, s.Name)
	}
	for name := range given {
		near := ofWord(name, known)
		if slices.Contains(known, name) || ofLibrary(name) || given[near] || !slices.Contains(reads, near) || Mistyped([]string{name}, file) != nil {
			continue
		}
		doubts = append(doubts, Doubt{name, near})
	}
	slices.SortFunc(doubts, func(a, b Doubt) int { return strings.Compare(a.Name, b.Name) })
	return doubts
}

// shared are first words of settings that many other programs use, too.
var shared = []string{"BASE", "LOG", "STRIPE"}

// The ends of two names with the same first word are close if they differ in at most maxWordDifference letters and begin with minWordStart
// equal ones.
const (
	maxWordDifference = 4
	minWordStart      = 2
)

// ofWord returns the closest setting that begins with the same word as a name, empty if none is close. The name may lack words in the
// middle, as TIINGO_KEY does, or end otherwise, as TRUSTED_PROXY does.
func ofWord(name string, known []string) string {
	word, end, _ := strings.Cut(name, "_")
	if end == "" || slices.Contains(shared, word) {
		return ""
	}
	near, least := "", 1<<30
	for _, setting := range known {
		other, ok := strings.CutPrefix(setting, word+"_")
		if !ok {
			continue
		}
		d := nearest.Distance(end, other)
		start := len(end) >= minWordStart && strings.HasPrefix(other, end[:minWordStart]) && d <= maxWordDifference
		if (start || strings.HasSuffix(other, "_"+end)) && d < least {
			near, least = setting, d
		}
	}
	return near
}

// suggest returns the end of a message about a word, empty if near is empty.
func suggest(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", near)
}

// bucketWords are the parameters of an s3:// URL.
var bucketWords = []string{
	"region", "endpoint", "prefix", "profile", "use_path_style", "anonymous", "disable_https", "dualstack", "fips", "role", "hostname_immutable", "accelerate",
	"rate_limiter_capacity", "request_checksum_calculation", "response_checksum_validation", "ssetype", "kmskeyid", "awssdk", "s3ForcePathStyle",
}

// archiveSchemes and redisSchemes are the schemes of URLs of archives and of Redis.
var (
	archiveSchemes = []string{"s3", "file", "mem"}
	redisSchemes   = []string{"redis", "rediss", "redis-sentinel", "rediss-sentinel", "redis-cluster", "rediss-cluster"}
)

// schemeFault returns the fault in the beginning of a value that must be a URL of one of the schemes, "" if there is no fault. A value
// without a scheme is valid. It repeats no more than the scheme, because the rest may hold a password.
func schemeFault(value string, schemes ...string) string {
	scheme, rest, ok := strings.Cut(value, ":")
	if !ok || len(scheme) < 2 || strings.ContainsAny(scheme, "/\\.@= ") { // a folder, C:\folder, host:port, key=value
		return ""
	}
	near := ""
	for _, s := range schemes {
		if strings.EqualFold(s, scheme) {
			near = s
		}
	}
	switch {
	case scheme == near && strings.HasPrefix(rest, "//"):
		return ""
	case scheme == near && near != "":
		return fmt.Sprintf("the value begins with %s:%s; did you mean %s://?", scheme, rest[:len(rest)-len(strings.TrimLeft(rest, "/"))], near)
	case strings.HasPrefix(rest, "/"):
		return fmt.Sprintf("a URL with the scheme %q is not one of %s%s", scheme, strings.Join(schemes, ", "), nearest.Suggest(scheme, schemes...))
	}
	return ""
}

// checkBuckets checks the URLs of archives and the parameters of bucket URLs.
func (s Settings) checkBuckets(bad func(name, format string, args ...any)) {
	for _, at := range []struct{ name, value string }{{"ARCHIVE_URL", s.ArchiveURL}, {"ARCHIVE_COLD_URL", s.ColdURL}} {
		if fault := schemeFault(at.value, archiveSchemes...); fault != "" {
			bad(at.name, "%s", fault)
		}
		scheme, rest, ok := strings.Cut(at.value, "://")
		if !ok || scheme != "s3" {
			continue
		}
		if bucket, _, _ := strings.Cut(strings.TrimLeft(rest, "/"), "?"); bucket == "" {
			bad(at.name, "the URL names no bucket, as in s3://bucket?region=eu-central-1")
		}
		_, query, _ := strings.Cut(rest, "?")
		given, err := url.ParseQuery(query)
		if err != nil {
			bad(at.name, "the parameters after ? cannot be read: %w", err)
		}
		for _, word := range slices.Sorted(maps.Keys(given)) {
			if !slices.Contains(bucketWords, word) {
				bad(at.name, "the parameter %q of a bucket is not known%s", word, nearest.SuggestOr(word, bucketWords...))
			}
		}
	}
}

// ofLibrary reports whether a library reads the name, or every name with its prefix.
func ofLibrary(name string) bool {
	return slices.ContainsFunc(libraries, func(l string) bool {
		return strings.EqualFold(name, l) || (strings.HasSuffix(l, "_") || l == "PG") && strings.HasPrefix(name, l)
	})
}

// checkURLs checks the settings that must be URLs of certain schemes. It does not repeat values that may hold a password.
func (s Settings) checkURLs(bad func(name, format string, args ...any)) {
	web := []string{"https", "http"}
	one := func(name, value string, schemes ...string) {
		if value == "" {
			return
		}
		u, err := url.Parse(value)
		switch {
		case err != nil || u.Scheme == "":
			bad(name, "the value is not a URL; it begins with %s://", strings.Join(schemes, ":// or "))
		case !slices.Contains(schemes, u.Scheme):
			bad(name, "a URL with the scheme %q is not one of %s%s", u.Scheme, strings.Join(schemes, ", "), nearest.Suggest(u.Scheme, schemes...))
		case u.Host == "":
			bad(name, "the URL names no host")
		}
	}
	one("PUBLIC_URL", s.PublicURL, web...)
	one("EXPLORER_URL", s.ExplorerURL, web...)
	one("X402_FACILITATOR_URL", s.X402FacilitatorURL, web...)
	one("TSA_URL", s.TSAURL, web...)
	one("STRIPE_API_URL", s.StripeAPIURL, web...)
	one("ALERT_WEBHOOK_URL", s.AlertWebhookURL, web...)
	one("ALERT_SMTP_URL", s.AlertSMTPURL, "smtp", "smtps")
	one("OTEL_EXPORTER_OTLP_ENDPOINT", s.OTLPEndpoint, web...)
	for _, u := range s.BaseRPCURLs() {
		one("BASE_RPC_URL", u, web...)
	}
	for _, u := range []struct{ name, value string }{
		{"DATABASE_URL", s.DatabaseURL},
		{"DATABASE_API_URL", s.DatabaseAPIURL},
		{"DATABASE_WORKER_URL", s.DatabaseWorkerURL},
		{"DATABASE_REPLICA_URL", s.ReplicaURL},
	} {
		if fault := schemeFault(u.value, "postgres", "postgresql"); fault != "" { // without a scheme it is key=value
			bad(u.name, "%s", fault)
		}
	}
	switch fault := schemeFault(s.RedisURL, redisSchemes...); {
	case fault != "":
		bad("REDIS_URL", "%s", fault)
	case s.RedisURL != "" && !strings.Contains(s.RedisURL, "://"):
		bad("REDIS_URL", "the value is not a URL; it begins with redis://")
	}
	if u, err := url.Parse(s.LedgerURL); s.LedgerURL != "" && (err != nil || u.Scheme == "") {
		bad("LEDGER_URL", "%q is not a URL", s.LedgerURL)
	}
}
