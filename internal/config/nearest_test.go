package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/nearest"
)

// others are names that the environments of many machines have.
const others = `PATH HOME USER SHELL TERM LANG LANGUAGE LC_ALL LC_ADDRESS LC_TIME PWD OLDPWD EDITOR VISUAL PAGER PAGE LESS MAIL LOGNAME HOSTNAME HOST PORT
	ADDRESS CONTRACT CONTACTS PRICE PRICED WORD WORDS WORLDS DEBUG VERBOSE COLOR NO_COLOR CI TMPDIR TEMP TMP TZ DISPLAY XDG_RUNTIME_DIR XDG_STATE_HOME XDG_DATA_DIRS DBUS_SESSION_BUS_ADDRESS
	SSH_AUTH_SOCK SSH_AGENT_PID SSH_CONNECTION GPG_TTY GOCACHE GOPATH GOROOT GOFLAGS GOPROXY GOMAXPROCS CGO_ENABLED CC CXX JAVA_HOME NODE_ENV NODE_PATH NPM_CONFIG_CACHE
	NVM_DIR VIRTUAL_ENV PYTHONPATH PIP_INDEX_URL CONDA_PREFIX CARGO_HOME RUSTUP_HOME GEM_HOME RAILS_ENV DJANGO_SETTINGS_MODULE SECRET_KEY SECRET_KEY_BASE
	API_KEY API_URL BASE_URL APP_URL APP_NAME APP_ENV ENVIRONMENT ENV LOG LOGLEVEL LOG_DIR LOG_FILE LOG_PATH MODE HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY
	PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGSSLMODE POSTGRES_USER POSTGRES_DB POSTGRES_HOST POSTGRES_URL DB_URL DB_HOST DB_USER DB_PASSWORD MYSQL_URL
	MONGODB_URI MONGO_URL AMQP_URL RABBITMQ_URL KAFKA_BROKERS ELASTICSEARCH_URL REDIS_PORT REDIS_PASSWORD REDIS_TLS_URL CELERY_BROKER_URL SENTRY_DSN
	AWS_REGION AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AZURE_TENANT_ID GOOGLE_APPLICATION_CREDENTIALS GCP_PROJECT S3_BUCKET S3_ENDPOINT MINIO_ROOT_USER
	KUBECONFIG KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_PORT_443_TCP_ADDR DOCKER_HOST COMPOSE_PROJECT_NAME CONTAINER VAULT_ADDR VAULT_TOKEN CONSUL_HTTP_ADDR NOMAD_ADDR
	GITHUB_TOKEN GITHUB_ACTIONS GITHUB_WORKSPACE GITLAB_CI JENKINS_URL BUILD_URL BRANCH_NAME OPENAI_API_KEY ANTHROPIC_API_KEY STRIPE_API_KEY STRIPE_PUBLISHABLE_KEY
	TWILIO_AUTH_TOKEN SLACK_WEBHOOK_URL WEBHOOK_URL SMTP_URL SMTP_HOST MAIL_FROM MAIL_TO RPC_URL CHAIN_ID ETH_RPC_URL INFURA_KEY ALCHEMY_KEY PRIVATE_KEY NASA_API_KEY NOAA_API_KEY
	OTEL_EXPORTER_OTLP_PROTOCOL OTEL_LOGS_EXPORTER OTEL_METRICS_EXPORTER OTEL_PROPAGATORS WATCHDOG_USEC NOTIFY_SOCKET INVOCATION_ID JOURNAL_STREAM LISTEN_FDS CREDENTIALS_DIRECTORY
	MAKEFLAGS MAKELEVEL SHLVL COLUMNS LINES HISTFILE LS_COLORS LESSOPEN WINDOWID TERM_PROGRAM VSCODE_PID WSL_DISTRO_NAME SUDO_USER WORKDIR WORKSPACE CONCURRENT PARALLEL THREADS WORKERS
	UNIVERSITY DATA_DIR CACHE_DIR CONFIG_DIR STATIC_URL MEDIA_URL PUBLIC_KEY PUBLIC_IP SITE_URL ALLOWED_HOSTS ALLOWED_ORIGINS CORS_ORIGINS TRUSTED_HOSTS RATE_LIMITS_FILE USER_ID`

func TestAMistypedSettingIsFoundAndTheNamesOfOtherProgramsAreNot(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ALERT_WEBHOK_URL": "ALERT_WEBHOOK_URL", "ALERT_WEBHOOK_ULR": "ALERT_WEBHOOK_URL", "DATABSE_URL": "DATABASE_URL", "LOG_LEVELS": "LOG_LEVEL",
		"X402_PAYTO": "X402_PAY_TO", "PRICES_FODLER": "PRICES_FOLDER", "CONCURENCY": "CONCURRENCY", "CONCURRNCY": "CONCURRENCY", "CONCURENCI": "CONCURRENCY",
		"PAGESS": "PAGES", "PAEGS": "PAGES", "WOLRD": "WORLD", "UNIVERS": "UNIVERSE", "REDIS_ULR": "REDIS_URL", "OPS_TOKNE": "OPS_TOKEN", "PICKAT": "PICK_AT",
		"DATABASE_WORKR_URL": "DATABASE_WORKER_URL", "STATE_DRI": "STATE_DIR", "TRUSTED_PROXY": "",
		"ALERT_WEBHOOK": "ALERT_WEBHOOK_URL", "ALERT_WEBHOOK_ADDRESS": "ALERT_WEBHOOK_URL", "DATABASE_WORKER": "DATABASE_WORKER_URL", "ARCHIVE_COLD": "ARCHIVE_COLD_URL",
		"SANDBOX_DAY": "SANDBOX_DAYS", "X402_PAYEE": "X402_PAY_TO",
		"STATE_DIR": "", "POSTGRES_PASSWORD": "", "REDIS_HOST": "", "OTEL_TRACES_SAMPLER": "",
	} {
		got := strings.Join(Mistyped([]string{name + "=x", "PATH=/bin"}, nil), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := Mistyped([]string{"DATABASE_URI=a", "DATABASE_URL=b"}, nil); got != nil {
		t.Errorf("where the setting is given, its neighbour belongs to another program: %v", got)
	}
	for name := range strings.FieldsSeq(others) {
		if got := Mistyped([]string{name + "=x"}, nil); got != nil {
			t.Errorf("a false alarm: %v", got)
		}
	}
	for _, name := range foreign {
		near := false
		for _, s := range (Settings{}).List() {
			near = near || nearest.Distance(name, s.Name) <= 2
		}
		if !near {
			t.Errorf("%s is near no setting: it need not be listed", name)
		}
	}
}

// A name that another program may have as well is no error. The command that reads the setting warns.
func TestANameThatMayBeMeantAsASettingIsDoubted(t *testing.T) {
	t.Parallel()
	var all []string
	for _, s := range (Settings{}).List() {
		all = append(all, s.Name)
	}
	for name, want := range map[string]string{
		"TRUSTED_PROXY": "TRUSTED_PROXIES", "TIINGO_KEY": "TIINGO_API_KEY", "EIA_KEY": "EIA_API_KEY", "OPS_ADR" + "ESS": "OPS_ADDR", "OPS_ADDRESS": "OPS_ADDR",
		"FRED_KEY": "FRED_API_KEY", "NASS_KEY": "NASS_API_KEY", "SEC_AGENT": "SEC_USER_AGENT", "MCP_LIMIT": "MCP_RATE_LIMIT", "LEDGER_TOKEN": "LEDGER_HTTP_TOKEN",
		"OPS_HOSTNAME": "OPS_HOSTS", "TIINGO_URL": "", "LOG_FILE": "", "TIINGO_API_KEY": "", "TIINGO_": "", "TIINGO": "", "PGUSER": "",
	} {
		got := Doubtful([]string{name + "=x", "PATH=/bin"}, nil, all)
		if want != "" && !slices.Equal(got, []Doubt{{name, want}}) || want == "" && got != nil {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name := range strings.FieldsSeq(others) {
		if got := Doubtful([]string{name + "=x"}, nil, all); got != nil {
			t.Errorf("a false alarm: %v", got)
		}
	}
	for why, got := range map[string][]Doubt{
		"the setting is given":               Doubtful([]string{"EIA_KEY=a", "EIA_API_KEY=b"}, nil, all),
		"the command does not read it":       Doubtful([]string{"EIA_KEY=a"}, nil, []string{"TIINGO_API_KEY"}),
		"it is an error, and needs no more":  Doubtful([]string{"ALERT_WEBHOOK_ADDRESS=a"}, nil, all),
		"the file has it, which is an error": Doubtful([]string{"EIA_KEY=a"}, []string{"EIA_KEY"}, all),
	} {
		if got != nil {
			t.Errorf("%s: %q", why, got)
		}
	}
}

// Only this program reads the file, so an unknown name is a fault, even without a close setting.
func TestEveryLineOfTheEnvFileIsASettingOrOfALibrary(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"DATABSE_URL": "did you mean DATABASE_URL?", "PAGER": "did you mean PAGES?", "FOO": "FOO in .env is not a setting.", "TIINGO_KEY": "did you mean TIINGO_API_KEY?", "POSTGRES_PASSWORT": "did you mean POSTGRES_PASSWORD?",
		"DATABASE_URL": "", "POSTGRES_PASSWORD": "", "AWS_ACCESS_KEY_ID": "", "PGSSLROOTCERT": "", "https_proxy": "", "TZ": "", "COMPOSE_PROJECT_NAME": "",
	} {
		got := strings.Join(Mistyped([]string{name + "=x", "DATABASE_WORKER_URL=y"}, []string{name}), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`\$\{([A-Z0-9_]+)`).FindAllSubmatch(text, -1) {
		if got := Mistyped(nil, []string{string(found[1])}); got != nil {
			t.Errorf("docker-compose.yml reads it: %v", got)
		}
	}
}

func TestURLsOfTheWrongKindAreFoundAndNoPasswordIsRepeated(t *testing.T) {
	t.Parallel()
	s, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	for _, one := range s.List() {
		if one.Default != one.Value && !strings.HasSuffix(one.Name, "_LIMIT") { // a rate is written in full
			t.Errorf("%s is %q by default, want %q", one.Name, one.Value, one.Default)
		}
	}
	s.PublicURL, s.AlertWebhookURL, s.BaseRPCURL = "htps://example.com", "hooks.example.com/secret", "https://a.example,htt://b.example/secret"
	s.DatabaseURL, s.AlertSMTPURL, s.StripeAPIURL = "postgre://u:secret@h/d", "smpt://u:secret@h", "https://"
	err = s.Validate()
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatalf("the faults: %v", err)
	}
	for _, want := range []string{
		"PUBLIC_URL: a URL with the scheme \"htps\" is not one of https, http; did you mean https?", "ALERT_WEBHOOK_URL: the value is not a URL",
		"BASE_RPC_URL: a URL with the scheme \"htt\" is not one of https, http; did you mean http?", "STRIPE_API_URL: the URL names no host",
		"DATABASE_URL: a URL with the scheme \"postgre\" is not one of postgres, postgresql; did you mean postgres?", "did you mean smtp?",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the faults lack %q:\n%v", want, err)
		}
	}
	// A command reports the faults of the settings that it reads.
	if err := s.Validate("PUBLIC_URL", "ADDR"); err == nil || strings.Contains(err.Error(), "DATABASE_URL") || !strings.Contains(err.Error(), "PUBLIC_URL") {
		t.Errorf("the faults of two settings: %v", err)
	}
	if err := s.Validate(slices.Repeat([]string{"ADDR"}, 2)...); err != nil {
		t.Errorf("a setting without a fault: %v", err)
	}
}

func TestTheBeginningOfAURLIsFoundWrongAtTheStartAndTheRightOneIsNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(*Settings, string)
		good []string
		bad  map[string]string
	}{
		"ARCHIVE_URL": {
			func(s *Settings, v string) { s.ArchiveURL = v },
			[]string{"", "archive", "/srv/archive", "./a:b/c", "a:b", `C:\archive`, "file:///srv/a", "file://./a", "mem://", "s3://tide?region=x"},
			map[string]string{
				"s3:/tide": "begins with s3:/; did you mean s3://?", "s3:tide": "did you mean s3://?", "s4://tide": `"s4" is not one of s3, file, mem; did you mean s3?`,
				"S3://tide": "did you mean s3?", "file:/srv/a": "did you mean file://?", "https://tide.s3.example/": `"https" is not one of s3, file, mem`, "gs://tide": "not one of s3, file, mem",
				"s3://?region=x": "names no bucket", "s3:///": "names no bucket",
			},
		},
		"ARCHIVE_COLD_URL": {func(s *Settings, v string) { s.ColdURL = v }, []string{"/srv/cold"}, map[string]string{"s3:/cold": "did you mean s3://?"}},
		"REDIS_URL": {
			func(s *Settings, v string) { s.RedisURL = v },
			[]string{"", "redis://:secret@h:1/0", "rediss://h", "redis-sentinel://a,b/0?master=m", "rediss-cluster://a,b"},
			map[string]string{
				"reddis://:secret@h": "did you mean redis?", "redis:/h": "did you mean redis://?", "redis-sentinal://a": "did you mean redis-sentinel?", "h:6379": "begins with redis://",
				"http://h": `"http" is not one of redis, rediss`, "localhost:6379": "begins with redis://",
			},
		},
		"DATABASE_URL": {
			func(s *Settings, v string) { s.DatabaseURL = v },
			[]string{"postgres://u:secret@h/d", "postgresql:///d?host=/run", "host=h user=u password=a:/b"},
			map[string]string{"postgres:/u:secret@h/d": "did you mean postgres://?", "postgre://u:secret@h": "did you mean postgres?"},
		},
	} {
		for _, v := range tt.good {
			s, _ := Defaults()
			tt.set(&s, v)
			if err := s.Validate(name); err != nil {
				t.Errorf("%s=%s: %v", name, v, err)
			}
		}
		for v, says := range tt.bad {
			s, _ := Defaults()
			tt.set(&s, v)
			if err := s.Validate(name); err == nil || !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s=%s: %v, want %s", name, v, err, says)
			}
		}
	}
}

func TestWordsWithinSettingsThatMeanNothingNameTheNearest(t *testing.T) {
	t.Parallel()
	s, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	s.BillingModel, s.Pages, s.PricesPersonalUse = "blance", "ful", "yaho"
	s.ArchiveURL, s.ColdURL, s.PortWatchAck = "s3://tide?regoin=eu-central-1&prefix=live/", "s3://cold?region=eu-central-1&endpoit=x", "yse"
	err = s.Validate()
	for _, want := range []string{
		`ARCHIVE_URL: the parameter "regoin" of a bucket is not known; did you mean region?`,
		`ARCHIVE_COLD_URL: the parameter "endpoit" of a bucket is not known; did you mean endpoint?`,
		`BILLING_MODEL: "blance" is none of balance, plan; did you mean balance?`, `PAGES: "ful" is none of free, full; did you mean full?`,
		`PRICES_PERSONAL_USE: "yaho" is none of yahoo, nasdaq; did you mean yahoo?`,
		`PORTWATCH_LICENSE_ACK: "yse" is not yes or no; did you mean yes?`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	s.BillingModel, s.Pages, s.PricesPersonalUse = "plan", "full", "yahoo"
	s.ArchiveURL, s.ColdURL, s.PortWatchAck = "s3://tide?region=eu-central-1&endpoint=https://s.example&use_path_style=true&prefix=live/&anonymous=true", "", "no"
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}
