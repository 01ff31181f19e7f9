// Package config is the one struct of settings. Each field is a setting: an environment variable, a line of the .env file and a
// flag of the same name, in rising precedence flag, environment, .env, default. It is filled once, in main, validated whole, and
// read by nobody later. Start at Settings.
package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
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
	OpsAddr     string `env:"OPS_ADDR" roles:"up,scheduler,worker,api" help:"Private address for operators: /healthz, /readyz, /metrics. It asks for no password: keep it from the public. Without it there is none."`
	PublicURL   string `env:"PUBLIC_URL" roles:"up,api" help:"Base URL that answers carry in their links. Default: http:// and ADDR."`
	Contact     string `env:"CONTACT" roles:"up,api" help:"Where reports about security go: a mail or web address (mailto:security@example.com, https://...). Default: mailto:security@ and the host of PUBLIC_URL, the mailbox that RFC 2142 names."`

	StateDir    string `env:"STATE_DIR" default:".tidemark" roles:"all" help:"Folder for everything kept on disk; each world has a folder of its own below it."`
	DatabaseURL string `env:"DATABASE_URL" secret:"true" roles:"all" help:"Postgres. Without it, up runs a private server from the binaries found on the machine."`
	ReplicaURL  string `env:"DATABASE_REPLICA_URL" name:"database-replica-url" secret:"true" roles:"up,api" help:"A replica of that Postgres, or several (postgres://user:password@a:5432,b:5432/database). It answers questions about the past of signals as long as it has what was shown before; else, and for all other things, DATABASE_URL is asked."`
	RedisURL    string `env:"REDIS_URL" secret:"true" roles:"up,scheduler,worker,api" help:"Redis. Without it, up runs a private redis-server, or a stand-in inside the process."`
	ArchiveURL  string `env:"ARCHIVE_URL" roles:"up,worker" help:"Where raw bytes are kept: a folder, or a bucket of S3 or what speaks its protocol (s3://bucket?region=eu-central-1&endpoint=https://storage.example). Default: the folder archive in the world's state folder."`
	ColdURL     string `env:"ARCHIVE_COLD_URL" name:"archive-cold-url" roles:"up,scheduler,worker" help:"Where raw bytes go that are older than ARCHIVE_COLD_AFTER_DAYS: a folder or bucket, as ARCHIVE_URL. They are read from there, too, and deleted from ARCHIVE_URL. Without it they stay. The same for every scheduler and worker."`
	ColdAfter   int    `env:"ARCHIVE_COLD_AFTER_DAYS" name:"archive-cold-after-days" default:"400" roles:"up,worker" help:"After how many whole days raw bytes are moved to ARCHIVE_COLD_URL, counted from when they were written."`

	Archive      string        `env:"REPLAY_ARCHIVE" name:"archive" roles:"up,worker" help:"The archive folder that the replay world answers from."`
	At           time.Time     `env:"REPLAY_AT" name:"at" format:"2006-01-02T15:04:05Z07:00" roles:"up,scheduler,worker" help:"The replay world's time (RFC 3339). Default: the archive's last fetch."`
	SandboxSeed  uint64        `env:"SANDBOX_SEED" default:"1" roles:"up,worker" help:"What the sandbox's numbers are drawn from."`
	SandboxDays  int           `env:"SANDBOX_DAYS" default:"120" roles:"up" help:"How many days of history a new sandbox lives through, at high speed, before it follows the wall clock."`
	SandboxDelay time.Duration `env:"SANDBOX_DELAY" default:"0s" roles:"up,worker" help:"How long a sandbox upstream takes to answer."`

	EIAAPIKey    string `env:"EIA_API_KEY" name:"eia-api-key" secret:"true" roles:"up,worker" help:"Key of the EIA API v2. Without it the public history pages are read."`
	NASSAPIKey   string `env:"NASS_API_KEY" name:"nass-api-key" secret:"true" roles:"up,worker" help:"Key of the NASS Quick Stats API. Without it the public query form is used."`
	FREDAPIKey   string `env:"FRED_API_KEY" name:"fred-api-key" secret:"true" roles:"up,worker" help:"Key of the FRED API. With it macro figures are known as they were first printed; without it the public graph files are read, which know the present ones only."`
	PortWatchAck string `env:"PORTWATCH_LICENSE_ACK" name:"portwatch-license-ack" roles:"up,scheduler,worker" help:"yes: this service may use IMF PortWatch, whose terms allow non-commercial and research use. Without it hormuz-transit gets no data outside the sandbox and replay worlds."`
	UserAgent    string `env:"USER_AGENT" roles:"up,worker" help:"How upstreams see this program; give a way to reach you. Default: Tidemark and PUBLIC_URL."`

	Universe          string `env:"UNIVERSE" default:"top 300" roles:"up,worker" help:"Which companies are followed: top N (the largest of the SEC's list), or tickers and CIKs (AAPL,MSFT,BRK-B,0000320193), or @FILE with such a list. Who was followed once stays."`
	SECUserAgent      string `env:"SEC_USER_AGENT" name:"sec-user-agent" roles:"up,scheduler,worker" help:"How this program calls itself to the SEC, which answers only those who name an address to write to: \"Example Research admin@example.com\". Without it no company is followed in the live world."`
	TiingoAPIKey      string `env:"TIINGO_API_KEY" name:"tiingo-api-key" secret:"true" roles:"up,scheduler,worker" help:"Key of Tiingo, the source of daily prices where it is set. Terms: https://www.tiingo.com/about/terms"`
	PricesFolder      string `env:"PRICES_FOLDER" roles:"up,scheduler,worker" help:"Folder of CSV files with daily prices, TICKER.csv with the columns date and close at least: the source of prices where TIINGO_API_KEY is not set, and where it is, the second one: a close of the day on which both differ is not picked at."`
	PricesPersonalUse string `env:"PRICES_PERSONAL_USE" roles:"up,scheduler,worker" help:"yahoo or nasdaq: ask that service for prices where neither TIINGO_API_KEY nor PRICES_FOLDER is set; where one of them is, as the second source. Their terms allow personal use and no redistribution (https://legal.yahoo.com/us/en/yahoo/terms/otos/index.html, https://www.nasdaq.com/legal/legal-terms), and neither is a supported service: to set this is to accept that. Nasdaq states no dividends."`

	LedgerRemote        string `env:"LEDGER_REMOTE" secret:"true" roles:"up,worker" help:"Where the git ledger of the picks is pushed to: an https, ssh or file URL, or user@host:path. Without it the ledger stays local."`
	LedgerURL           string `env:"LEDGER_URL" name:"ledger-url" roles:"up,worker" help:"Where readers find the ledger, as answers say it. Default: LEDGER_REMOTE where that is an https URL."`
	LedgerBranch        string `env:"LEDGER_BRANCH" default:"main" roles:"up,worker" help:"The branch of the ledger."`
	LedgerAuthorName    string `env:"LEDGER_AUTHOR_NAME" default:"Tidemark" roles:"up,worker" help:"Who commits to the ledger. The same for every worker, and for ever: it is part of each commit."`
	LedgerAuthorEmail   string `env:"LEDGER_AUTHOR_EMAIL" default:"ledger@tidemark.invalid" roles:"up,worker" help:"The address of who commits to the ledger. The same for every worker, and for ever."`
	LedgerSigningKey    string `env:"LEDGER_SIGNING_KEY" roles:"up,worker" help:"File of an OpenSSH Ed25519 private key without a passphrase, mode 0600, that signs the ledger's commits. Without it they are not signed."`
	LedgerSSHKey        string `env:"LEDGER_SSH_KEY" name:"ledger-ssh-key" roles:"up,worker" help:"File of the private key for a remote reached by ssh. Default: the agent's keys."`
	LedgerSSHKnownHosts string `env:"LEDGER_SSH_KNOWN_HOSTS" name:"ledger-ssh-known-hosts" roles:"up,worker" help:"File with the ssh remote's host key. Default: the user's own and the system's file."`
	LedgerHTTPUser      string `env:"LEDGER_HTTP_USER" name:"ledger-http-user" roles:"up,worker" help:"User for a remote reached by https. Most hosts take any with a token."`
	LedgerHTTPToken     string `env:"LEDGER_HTTP_TOKEN" name:"ledger-http-token" secret:"true" roles:"up,worker" help:"Token for a remote reached by https."`

	BaseRPCURL           string `env:"BASE_RPC_URL" name:"base-rpc-url" secret:"true" roles:"up,worker" help:"JSON-RPC addresses of nodes of the L2, separated by commas; a node that fails is passed over. Without it up starts a development chain in the sandbox, and elsewhere nothing is attested."`
	BaseChainID          uint64 `env:"BASE_CHAIN_ID" name:"base-chain-id" default:"8453" roles:"up,worker" help:"Id of the L2: 8453 is Base, 84532 Base Sepolia. A node of another chain is refused."`
	EASAddress           string `env:"EAS_ADDRESS" name:"eas-address" default:"0x4200000000000000000000000000000000000021" roles:"up,worker" help:"Contract of the Ethereum Attestation Service."`
	EASSchemaRegistry    string `env:"EAS_SCHEMA_REGISTRY" name:"eas-schema-registry" default:"0x4200000000000000000000000000000000000020" roles:"up,worker" help:"Its SchemaRegistry."`
	EASStartBlock        uint64 `env:"EAS_START_BLOCK" name:"eas-start-block" default:"0" roles:"up,worker" help:"A block before the attester's first attestation, from which logs are read. tidemark chain setup says which."`
	ExplorerURL          string `env:"EXPLORER_URL" roles:"up,worker" help:"Block explorer that answers link to. Default: Basescan for Base and Base Sepolia."`
	AttesterKeyFile      string `env:"ATTESTER_KEY_FILE" roles:"up,worker" help:"File with the attester's private key, mode 0600: 64 hex digits, or an encrypted keystore. Without it attestations stay pending."`
	AttesterPasswordFile string `env:"ATTESTER_PASSWORD_FILE" roles:"up,worker" help:"File, mode 0600, whose first line is the keystore's password."`
	AttesterDailyGwei    int64  `env:"ATTESTER_DAILY_GWEI" default:"5000000" roles:"up,worker" help:"The most that the attestations of one UTC day may cost together, in gwei (0.005 ether)."`
	AttesterMaxGwei      int64  `env:"ATTESTER_MAX_GWEI" default:"10" roles:"up,worker" help:"The most that a unit of gas may cost an attestation, in gwei."`

	BillingModel string `env:"BILLING_MODEL" default:"balance" roles:"up,api,worker" help:"How the service is paid for: balance (each request deducts its price) or plan (Free and Pro, with daily quotas)."`
	Prices       string `env:"PRICES" roles:"up,api" help:"Prices in US dollars of the endpoints that have none: /events=0.001,/economic-events=0.001,/digest/latest=0.002. Default: they cost nothing."`

	PickAt              string `env:"PICK_AT" default:"17:30" roles:"up,scheduler" help:"Clock time in New York at which the pick of a trading day is made, after the close."`
	PickCutoff          string `env:"PICK_CUTOFF" default:"22:00" roles:"up,worker" help:"Clock time in New York until which a pick waits for the day's closing prices. Without them the day is recorded as one without a pick."`
	AnnounceAt          string `env:"ANNOUNCE_AT" default:"18:00" roles:"up,scheduler,worker" help:"Clock time in New York at which the pick of a day becomes public."`
	X402FacilitatorURL  string `env:"X402_FACILITATOR_URL" name:"x402-facilitator-url" secret:"true" roles:"up,api" help:"Facilitator that verifies and settles payments by request (x402). Without it, or without X402_PAY_TO, nothing is sold by request; the sandbox has one of its own."`
	X402FacilitatorAuth string `env:"X402_FACILITATOR_AUTH" name:"x402-facilitator-auth" secret:"true" roles:"up,api" help:"What the facilitator is sent as the header Authorization, or as another one: Name: value."`
	X402Network         string `env:"X402_NETWORK" name:"x402-network" default:"base" roles:"up,api,worker" help:"Network of payments by request: base, base-sepolia, or a CAIP-2 name as eip155:8453."`
	X402Asset           string `env:"X402_ASSET" name:"x402-asset" roles:"up,api,worker" help:"Contract of the stablecoin. Default: USDC of the network."`
	X402AssetName       string `env:"X402_ASSET_NAME" name:"x402-asset-name" roles:"up,api,worker" help:"Name in its EIP-712 domain, which payers sign for. Default: that of USDC on the network."`
	X402AssetVersion    string `env:"X402_ASSET_VERSION" name:"x402-asset-version" roles:"up,api,worker" help:"Version in its EIP-712 domain. Default: that of USDC."`
	X402PayTo           string `env:"X402_PAY_TO" name:"x402-pay-to" roles:"up,api,worker" help:"Account that payments by request go to, and transfers that keys are topped up with. Its key is needed nowhere."`

	StripeSecretKey     string `env:"STRIPE_SECRET_KEY" secret:"true" roles:"up,api,worker" help:"Key of the Stripe API. With it and STRIPE_WEBHOOK_SECRET balances can be topped up by card on the dashboard."`
	StripeWebhookSecret string `env:"STRIPE_WEBHOOK_SECRET" secret:"true" roles:"up,api,worker" help:"Signing secret of the Stripe webhook that sends its events to PUBLIC_URL/webhooks/stripe: checkout.session.completed, charge.refunded, refund.failed and charge.dispute.*."`
	StripeAPIURL        string `env:"STRIPE_API_URL" name:"stripe-api-url" default:"https://api.stripe.com" roles:"up,api,worker" help:"Where the Stripe API is; another address for tests."`

	PaymentsRequireSenderProof bool `env:"PAYMENTS_REQUIRE_SENDER_PROOF" default:"false" roles:"up,worker" help:"true: a transfer tops up only the key that its sender has signed for. Payments from exchanges, which cannot sign, are then refused."`

	RateLimit         Rate   `env:"RATE_LIMIT" default:"300/1m" roles:"up,api" help:"How many requests a key may make: a number and the time they are for (300/1m, 10000/1h), or off."`
	RegisterLimit     Rate   `env:"REGISTER_LIMIT" default:"5/1h" roles:"up,api" help:"How many keys an address may register, as RATE_LIMIT."`
	SignalsRateLimit  Rate   `env:"SIGNALS_RATE_LIMIT" default:"600/1m" roles:"up,api" help:"How many questions about the past of signals (history, vintages, as_of) an address may ask, as RATE_LIMIT. The latest snapshots are not limited."`
	X402RateLimit     Rate   `env:"X402_RATE_LIMIT" name:"x402-rate-limit" default:"300/1m" roles:"up,api" help:"How many requests an address may make for what is paid by request, as RATE_LIMIT."`
	MCPRateLimit      Rate   `env:"MCP_RATE_LIMIT" name:"mcp-rate-limit" default:"60/1m" roles:"up,api" help:"How many MCP requests an address may make, as RATE_LIMIT."`
	MCPAllowedOrigins string `env:"MCP_ALLOWED_ORIGINS" name:"mcp-allowed-origins" roles:"up,api" help:"Origins of the web pages that may use MCP (https://example.com), separated by commas, or *. Default: *, but only its own where PUBLIC_URL is an address of this machine. Clients that are no web page always may."`
	MCPRegistryKey    string `env:"MCP_REGISTRY_KEY" name:"mcp-registry-key" roles:"up,api" help:"What the MCP registry asks the host for when a version is published: v=MCPv1; k=ed25519; p=PUBLIC_KEY. Default: nothing."`
	TrustedProxies    string `env:"TRUSTED_PROXIES" roles:"up,api" help:"Addresses and networks (10.0.0.0/8), separated by commas, of the proxies in front, whose X-Forwarded-For is believed. Default: none."`

	AlertWebhookURL string `env:"ALERT_WEBHOOK_URL" secret:"true" roles:"up,scheduler" help:"Address that alerts are posted to, as JSON whose member text chat services show. Alerts are always logged."`
	AlertSMTPURL    string `env:"ALERT_SMTP_URL" name:"alert-smtp-url" secret:"true" roles:"up,scheduler" help:"Mail server that alerts are sent by: smtp://user:password@host:port, or smtps."`
	AlertMailFrom   string `env:"ALERT_MAIL_FROM" roles:"up,scheduler" help:"Sender of mails about alerts."`
	AlertMailTo     string `env:"ALERT_MAIL_TO" roles:"up,scheduler" help:"Who gets them: mail addresses, separated by commas."`
	AlertRunwayDays int    `env:"ALERT_RUNWAY_DAYS" default:"14" roles:"up,scheduler" help:"For how many days of attestations the attester's balance must pay, or an alert is raised."`

	KeepRunsDays   int `env:"KEEP_RUNS_DAYS" default:"400" roles:"up,worker" help:"For how many days runs that are over stay in the run log; 0: for ever. The newest of each job and subject, and those of backfills, always stay."`
	KeepUsageDays  int `env:"KEEP_USAGE_DAYS" default:"800" roles:"up,worker" help:"For how many days the counts of requests by key and day are kept; 0: for ever. What was paid is kept for ever."`
	KeepQuotesDays int `env:"KEEP_QUOTES_DAYS" default:"40" roles:"up,worker" help:"For how many days it is kept which key held which amount for a transfer, from the end of its hold; 0: for ever."`
	KeepAlertsDays int `env:"KEEP_ALERTS_DAYS" default:"400" roles:"up,worker" help:"For how many days alerts that are over are kept; 0: for ever."`

	OTLPEndpoint    string  `env:"OTEL_EXPORTER_OTLP_ENDPOINT" name:"otel-exporter-otlp-endpoint" roles:"up,scheduler,worker,api" help:"Base URL of an OpenTelemetry collector (http://127.0.0.1:4318), which traces are sent to as OTLP over HTTP. Without it there are none."`
	OTLPHeaders     string  `env:"OTEL_EXPORTER_OTLP_HEADERS" name:"otel-exporter-otlp-headers" secret:"true" roles:"up,scheduler,worker,api" help:"Header fields for the collector: name=value, separated by commas, values percent-encoded."`
	OTLPTimeout     int     `env:"OTEL_EXPORTER_OTLP_TIMEOUT" name:"otel-exporter-otlp-timeout" default:"10000" roles:"up,scheduler,worker,api" help:"For how many milliseconds the collector is waited for."`
	OTelService     string  `env:"OTEL_SERVICE_NAME" name:"otel-service-name" default:"tidemark" roles:"up,scheduler,worker,api" help:"What traces call this program."`
	OTelAttributes  string  `env:"OTEL_RESOURCE_ATTRIBUTES" name:"otel-resource-attributes" roles:"up,scheduler,worker,api" help:"What traces tell of this installation (deployment.environment.name=production), in the form of OTEL_EXPORTER_OTLP_HEADERS."`
	OTelTracesShare float64 `env:"OTEL_TRACES_SAMPLER_ARG" name:"otel-traces-sampler-arg" default:"1" roles:"up,scheduler,worker,api" help:"Which part of all traces is recorded, from 0 to 1."`

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
	if fault := s.contactFault(); fault != "" {
		bad("CONTACT", "%s", fault)
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
	for _, a := range []struct{ name, value string }{{"ADDR", s.Addr}, {"SIGNALS_ADDR", s.SignalsAddr}, {"OPS_ADDR", s.OpsAddr}} {
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
	for _, a := range []struct{ name, value string }{{"EAS_ADDRESS", s.EASAddress}, {"EAS_SCHEMA_REGISTRY", s.EASSchemaRegistry}} {
		if !isAddress(a.value) {
			bad(a.name, "%q is no address (0x and 40 hex digits)", a.value)
		}
	}
	for _, a := range []struct{ name, value string }{{"LEDGER_URL", s.LedgerURL}, {"EXPLORER_URL", s.ExplorerURL}} {
		if u, err := url.Parse(a.value); a.value != "" && (err != nil || u.Scheme == "") {
			bad(a.name, "%q is no URL", a.value)
		}
	}
	for _, u := range s.BaseRPCURLs() {
		if p, err := url.Parse(u); err != nil || p.Host == "" || (p.Scheme != "http" && p.Scheme != "https") {
			bad("BASE_RPC_URL", "an address is no http or https URL") // it may hold a key
		}
	}
	if s.AttesterDailyGwei < 1 || s.AttesterDailyGwei > math.MaxInt64/1_000_000_000 {
		bad("ATTESTER_DAILY_GWEI", "%d is no amount from 1 to %d", s.AttesterDailyGwei, math.MaxInt64/1_000_000_000)
	}
	if s.AttesterMaxGwei < 1 || s.AttesterMaxGwei > 1e6 {
		bad("ATTESTER_MAX_GWEI", "%d is no amount from 1 to 1000000", s.AttesterMaxGwei)
	}
	if s.BillingModel != "" && s.BillingModel != "balance" && s.BillingModel != "plan" {
		bad("BILLING_MODEL", "%q is none of balance, plan", s.BillingModel)
	}
	if _, err := s.Clocks(); err != nil {
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
		bad("PRICES_PERSONAL_USE", "%q is none of yahoo, nasdaq", s.PricesPersonalUse)
	}
	if (s.AlertSMTPURL == "") != (s.AlertMailTo == "") || (s.AlertSMTPURL == "") != (s.AlertMailFrom == "") {
		bad("ALERT_SMTP_URL", "it goes together with ALERT_MAIL_FROM and ALERT_MAIL_TO")
	}
	for _, k := range []struct {
		name string
		days int
	}{{"KEEP_RUNS_DAYS", s.KeepRunsDays}, {"KEEP_USAGE_DAYS", s.KeepUsageDays}, {"KEEP_QUOTES_DAYS", s.KeepQuotesDays}, {"KEEP_ALERTS_DAYS", s.KeepAlertsDays}} {
		if k.days < 0 || k.days > 0 && k.days < 40 {
			bad(k.name, "%d is neither 0 nor 40 or more", k.days) // what looks back at the last weeks has to find them
		}
	}
	if s.ColdURL != "" && s.ColdURL == s.ArchiveURL {
		bad("ARCHIVE_COLD_URL", "it is ARCHIVE_URL")
	}
	if s.ColdAfter < 1 {
		bad("ARCHIVE_COLD_AFTER_DAYS", "%d is less than 1", s.ColdAfter)
	}
	if u, err := url.Parse(s.OTLPEndpoint); s.OTLPEndpoint != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
		bad("OTEL_EXPORTER_OTLP_ENDPOINT", "%q is no http or https URL", s.OTLPEndpoint)
	}
	if s.OTLPEndpoint != "" && s.OTLPTimeout < 1 {
		bad("OTEL_EXPORTER_OTLP_TIMEOUT", "%d is less than 1", s.OTLPTimeout)
	}
	if s.OTelTracesShare < 0 || s.OTelTracesShare > 1 || math.IsNaN(s.OTelTracesShare) {
		bad("OTEL_TRACES_SAMPLER_ARG", "%v is no part from 0 to 1", s.OTelTracesShare)
	}
	if s.AlertRunwayDays < 1 {
		bad("ALERT_RUNWAY_DAYS", "%d is less than 1", s.AlertRunwayDays)
	}
	if s.Concurrency < 1 {
		bad("CONCURRENCY", "%d is less than 1", s.Concurrency)
	}
	return errors.Join(errs...)
}

// isAddress tells whether a is an account of the L2 as it is usually written.
func isAddress(a string) bool {
	digits, ok := strings.CutPrefix(a, "0x")
	if _, err := hex.DecodeString(digits); err != nil {
		return false
	}
	return ok && len(digits) == 40
}

// BaseRPCURLs are the addresses of BASE_RPC_URL, in their order.
func (s Settings) BaseRPCURLs() []string {
	return strings.FieldsFunc(s.BaseRPCURL, func(r rune) bool { return r == ',' || r == ' ' })
}

// MCPOrigins are the origins of MCP_ALLOWED_ORIGINS, in their order.
func (s Settings) MCPOrigins() []string {
	return strings.FieldsFunc(s.MCPAllowedOrigins, func(r rune) bool { return r == ',' || r == ' ' })
}

// Environ is the environment of the process, for programs that it starts.
func Environ() []string { return os.Environ() }

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
