package config

import "time"

// Settings holds every setting. A command fills the groups that it embeds; all other fields are zero.
type Settings struct {
	Logging
	Waiting
	All
}

// All holds every setting except Logging, which every command reads, and Waiting, which no role reads.
type All struct {
	Database
	Redis
	Address
	PrivateListener
	OperatorPages
	Replica
	PublicPages
	Early
	API
	Limits
	MCP
	Archive
	Raw
	Worlds
	Licences
	Upstreams
	Companies
	Followed
	Clock
	Ledger
	TransparencyLog
	Monitor
	Attester
	Payments
	Webhooks
	Alerts
	AlertMail
	Work
	Tracing
}

// Logging holds the settings that every command reads.
type Logging struct {
	LogFormat string `env:"LOG_FORMAT" first:"true" enum:"auto,text,json" default:"auto" help:"auto (short lines for a person on a terminal, else JSON), text or json."`
	LogLevel  string `env:"LOG_LEVEL" enum:"debug,info,warn,error" default:"info" help:"debug, info, warn or error."`
}

// Waiting holds how long a command waits for a server. Roles wait for as long as it takes.
type Waiting struct {
	CommandTimeout time.Duration `env:"COMMAND_TIMEOUT" default:"30s" help:"How long a command waits for a server that answers nothing. 0s: without limit. This is about Postgres and Redis; up, scheduler, worker and api wait for as long as it takes."`
}

// State is the state folder on disk.
type State struct {
	StateDir string `env:"STATE_DIR" first:"true" default:".tidemark" help:"Folder for everything kept on disk; each world has its own folder below it."`
}

// Place is a world and the folder of its state.
type Place struct {
	State

	World string `env:"WORLD" first:"true" default:"live" help:"Where upstream bytes come from: live, replay (an archive folder) or sandbox (made up, and marked so)."`
}

// Owner is the database of a world, for commands that log in as the owner of the database.
type Owner struct {
	Place

	DatabaseURL string `env:"DATABASE_URL" first:"true" secret:"true" help:"URL of the Postgres database. Without it, up runs a private server from the binaries found on the machine, and the other commands use that one."`
}

// Database is the database of a world, with the logins of the roles.
type Database struct {
	Owner

	DatabaseAPIURL    string `env:"DATABASE_API_URL" name:"database-api-url" secret:"true" help:"The same, with the login tidemark_api, for the API. Default: DATABASE_URL."`
	DatabaseWorkerURL string `env:"DATABASE_WORKER_URL" name:"database-worker-url" secret:"true" help:"The same, with the login tidemark_worker. Default: DATABASE_URL."`
}

// Stored is the database of a world, for commands that run once and end.
type Stored struct {
	Database
	Waiting
}

// Redis is the server of the task queue. The API counts requests there.
type Redis struct {
	RedisURL string `env:"REDIS_URL" first:"true" secret:"true" help:"URL of the Redis server. Without it, up runs a private redis-server, or a stand-in inside the process."`
}

// Site is the public address of the API.
type Site struct {
	PublicURL string `env:"PUBLIC_URL" first:"true" help:"Base URL that answers carry in their links. Default: http:// and ADDR."`
}

// Address is the listen address of the public API.
type Address struct {
	Site

	Addr string `env:"ADDR" first:"true" default:"127.0.0.1:8080" help:"Address that the public API and pages listen on."`
}

// Operators is the listen address of the private listener.
type Operators struct {
	OpsAddr string `env:"OPS_ADDR" first:"true" help:"Private address for operators: /healthz, /readyz, /metrics. It asks for no password: keep it from the public. Without it the process has no private listener."`
}

// PrivateListener is the private listener and the host names that it accepts.
type PrivateListener struct {
	Operators

	OpsHosts string `env:"OPS_HOSTS" help:"Names with a dot, separated by commas, under which OPS_ADDR is asked (worker.internal.example). Its addresses, names without a dot and the machine's own name always are; requests for other hosts are refused."`
}

// OperatorPages holds the settings of the pages on the private listener.
type OperatorPages struct {
	OpsToken string `env:"OPS_TOKEN" secret:"true" help:"An operator who knows it can act on the pages of OPS_ADDR: run, pause, resume and retry jobs, decide about quarantined answers, apply plans. At least 20 characters. Without it the pages change nothing."`
}

// Replica is a second database to read from.
type Replica struct {
	ReplicaURL string `env:"DATABASE_REPLICA_URL" name:"database-replica-url" secret:"true" help:"A replica of that Postgres, or several (postgres://user:password@a:5432,b:5432/database). It answers questions about the past of signals as long as it has what was shown before; else, and for all other things, DATABASE_URL is asked."`
}

// PublicPages holds the setting that the API shows pages by, and the worker tells of events by.
type PublicPages struct {
	Pages string `env:"PAGES" help:"What the pages show without a key: free or full. free: the latest five picks with their returns, the research on announced picks, the summary of the portfolio, macro figures and the chain. full: everything. A visitor who is signed in with a key sees the key's data, at the API's prices. Default: full in the sandbox, else free."`
}

// Early holds the setting that lets readers who pay see sealed picks: the workers allow it in the database, and the API serves it.
type Early struct {
	PicksEarly string `env:"PICKS_EARLY" help:"yes: readers who pay may see a pick before its announcement, at /api/v1/picks/early, once a quorum of LOG_WITNESSES has cosigned its seal. It needs LOG_ORIGIN and LOG_WITNESSES, and the same value for the API and the workers. All other readers see the pick at the announcement. Ask a lawyer first. Default: no."`
}

// API holds the settings that only the public API reads.
type API struct {
	SignalsAddr         string `env:"SIGNALS_ADDR" help:"A second address that serves the Signals API at its root."`
	Contact             string `env:"CONTACT" help:"Where reports about security go: a mail or web address (mailto:security@example.com, https://...). Default: mailto:security@ and the host of PUBLIC_URL, the mailbox that RFC 2142 names."`
	Prices              string `env:"PRICES" help:"Prices in US dollars of the endpoints that have none: /events=0.001,/economic-events=0.001,/digest/latest=0.002. Default: they cost nothing."`
	X402FacilitatorURL  string `env:"X402_FACILITATOR_URL" name:"x402-facilitator-url" secret:"true" help:"Facilitator that verifies and settles payments by request (x402). Without it, or without X402_PAY_TO, nothing is sold by request; the sandbox has its own."`
	X402FacilitatorAuth string `env:"X402_FACILITATOR_AUTH" name:"x402-facilitator-auth" secret:"true" help:"Header of requests to the facilitator: a value for Authorization, or another header as Name: value."`
	X402ReceiptKeyFile  string `env:"X402_RECEIPT_KEY_FILE" name:"x402-receipt-key-file" help:"File with the Ed25519 private key that signs receipts of payments by request, mode 0600: openssl genpkey -algorithm ed25519 makes it. Older keys may follow, and stay published. The same for every API. Without it receipts are not signed; the sandbox has its own."`
}

// Limits holds the rate limits of clients, and the settings that identify a client.
type Limits struct {
	RateLimit        Rate   `env:"RATE_LIMIT" default:"300/1m" help:"How many requests a key may make: a number and the time they are for (300/1m, 10000/1h), or off."`
	RegisterLimit    Rate   `env:"REGISTER_LIMIT" default:"5/1h" help:"How many keys an address may register, as RATE_LIMIT."`
	SignalsRateLimit Rate   `env:"SIGNALS_RATE_LIMIT" default:"600/1m" help:"How many questions about the past of signals (history, vintages, as_of), and for parts of the chain, an address may ask, as RATE_LIMIT. The latest snapshots are not limited."`
	X402RateLimit    Rate   `env:"X402_RATE_LIMIT" name:"x402-rate-limit" default:"300/1m" help:"How many requests for payment by request an address may make, as RATE_LIMIT."`
	PagesRateLimit   Rate   `env:"PAGES_RATE_LIMIT" default:"600/1m" help:"How many pages an address may load, as RATE_LIMIT."`
	TrustedProxies   string `env:"TRUSTED_PROXIES" help:"Addresses and networks (10.0.0.0/8), separated by commas, of the proxies in front, whose X-Forwarded-For is believed. Default: none."`
}

// MCP holds the settings of the server for agents.
type MCP struct {
	MCPRateLimit      Rate   `env:"MCP_RATE_LIMIT" name:"mcp-rate-limit" default:"60/1m" help:"How many MCP requests an address may make, as RATE_LIMIT."`
	MCPAllowedOrigins string `env:"MCP_ALLOWED_ORIGINS" name:"mcp-allowed-origins" help:"Origins of the web pages that may use MCP (https://example.com), separated by commas, or *. Default: *, but only its own if PUBLIC_URL is an address of this machine. Other clients than web pages always may."`
	MCPRegistryKey    string `env:"MCP_REGISTRY_KEY" name:"mcp-registry-key" help:"The host's answer to the MCP registry when a version is published: v=MCPv1; k=ed25519; p=PUBLIC_KEY. Default: nothing."`
}

// ColdArchive is the storage of old raw bytes.
type ColdArchive struct {
	ColdURL string `env:"ARCHIVE_COLD_URL" name:"archive-cold-url" help:"Where raw bytes go that are older than ARCHIVE_COLD_AFTER_DAYS: a folder or bucket, as ARCHIVE_URL. They are read from there, too, and deleted from ARCHIVE_URL. Without it they stay. The same for every scheduler and worker."`
}

// Archive is the storage of raw bytes.
type Archive struct {
	ColdArchive

	ArchiveURL string `env:"ARCHIVE_URL" help:"Where raw bytes are kept: a folder, or a bucket of S3 or of a server with its protocol (s3://bucket?region=eu-central-1&endpoint=https://storage.example). Default: the folder archive in the world's state folder."`
}

// Raw selects the archived bytes that the API shows.
type Raw struct {
	RawBytes string `env:"RAW_BYTES" name:"raw-bytes" help:"Sources, separated by commas, whose archived answers /raw/{sha256} shows (eia-petroleum-weekly,nass-iowa-corn), or none. Default: those whose license lets anyone pass them on. An answer to a request with your own key is never shown."`
}

// Worlds holds the inputs of the replay world and the sandbox world.
type Worlds struct {
	ReplayArchive string        `env:"REPLAY_ARCHIVE" name:"archive" help:"The archive folder that the replay world answers from."`
	ReplayAt      time.Time     `env:"REPLAY_AT" name:"at" format:"2006-01-02T15:04:05Z07:00" help:"The replay world's time (RFC 3339). Default: the archive's last fetch."`
	SandboxSeed   uint64        `env:"SANDBOX_SEED" default:"1" help:"Seed of the sandbox's numbers."`
	SandboxPrices string        `env:"SANDBOX_PRICES" enum:"drawn,fair,planted" default:"drawn" help:"What the sandbox's share prices follow. drawn: slowly back to a level. fair: nothing can be foretold. planted: as fair, but better margins than a business usually has gain more. For \"tidemark picks backtest\"."`
	SandboxDays   int           `env:"SANDBOX_DAYS" first:"true" default:"120" help:"How many days of history a new sandbox simulates, at high speed, before it follows the wall clock."`
	SandboxDelay  time.Duration `env:"SANDBOX_DELAY" default:"0s" help:"How long a sandbox upstream takes to answer."`
}

// Licences are the terms of publishers that an operator accepts. Each is a text: yes, no or empty.
type Licences struct {
	PortWatchAck string `env:"PORTWATCH_LICENSE_ACK" name:"portwatch-license-ack" help:"yes: this service may use IMF PortWatch, whose terms allow non-commercial and research use. Without it hormuz-transit gets no data outside the sandbox and replay worlds."`
}

// acknowledgments maps each setting to its value, for each publisher whose terms must be accepted.
func (l Licences) acknowledgments() map[string]string {
	return map[string]string{"PORTWATCH_LICENSE_ACK": l.PortWatchAck}
}

// Accepts reports whether the operator has accepted the terms of a setting.
func (l Licences) Accepts(setting string) bool { return l.acknowledgments()[setting] == "yes" }

// Upstreams holds the settings for requests to publishers. With an empty key, a source uses its keyless form.
type Upstreams struct {
	EIAAPIKey  string `env:"EIA_API_KEY" name:"eia-api-key" secret:"true" help:"Key of the EIA API v2. Without it the public history pages are read."`
	NASSAPIKey string `env:"NASS_API_KEY" name:"nass-api-key" secret:"true" help:"Key of the NASS Quick Stats API. Without it the public query form is used."`
	FREDAPIKey string `env:"FRED_API_KEY" name:"fred-api-key" secret:"true" help:"Key of the FRED API. With it macro figures are known as they were first printed; without it the public graph files are read, which know the present ones only."`
	UserAgent  string `env:"USER_AGENT" help:"How upstreams see this program; give a way to reach you. Default: Tidemark and PUBLIC_URL."`
}

// Companies holds the settings of the sources of filings and daily prices.
type Companies struct {
	SECUserAgent      string `env:"SEC_USER_AGENT" name:"sec-user-agent" help:"The name of this program for the SEC, which answers only clients with a mail address: \"Example Research admin@example.com\". Without it no company is followed in the live world."`
	TiingoAPIKey      string `env:"TIINGO_API_KEY" name:"tiingo-api-key" secret:"true" help:"Key of Tiingo, the source of daily prices if it is set. Terms: https://www.tiingo.com/about/terms"`
	PricesFolder      string `env:"PRICES_FOLDER" help:"Folder of CSV files with daily prices, TICKER.csv with the columns date and close at least. It is the source of prices if TIINGO_API_KEY is not set, else the second source. A share whose two closes of a day differ is not picked on that day."`
	PricesPersonalUse string `env:"PRICES_PERSONAL_USE" help:"yahoo or nasdaq: ask that service for prices if neither TIINGO_API_KEY nor PRICES_FOLDER is set, and as the second source if one of them is. Their terms allow personal use and no redistribution (https://legal.yahoo.com/us/en/yahoo/terms/otos/index.html, https://www.nasdaq.com/legal/legal-terms), and neither is a supported service: to set this is to accept that. Nasdaq states no dividends."`
}

// Followed selects the companies that are followed.
type Followed struct {
	Universe string `env:"UNIVERSE" first:"true" default:"top 300" help:"Which companies are followed: top N (the largest of the SEC's list), or tickers and CIKs (AAPL,MSFT,BRK-B,0000320193), or @FILE with such a list. Who was followed once stays."`
}

// Clock holds the daily clock times of the record.
type Clock struct {
	PickAt     string `env:"PICK_AT" default:"17:30" help:"Clock time in New York at which the pick of a trading day is made, after the close."`
	PickCutoff string `env:"PICK_CUTOFF" default:"22:00" help:"Clock time in New York until which a pick waits for the day's closing prices. Without them the day is recorded without a pick."`
	AnnounceAt string `env:"ANNOUNCE_AT" default:"18:00" help:"Clock time in New York at which the pick of a day becomes public."`
}

// Remote is the public copy of the git ledger.
type Remote struct {
	LedgerRemote string `env:"LEDGER_REMOTE" first:"true" secret:"true" help:"Where the git ledger of the picks is pushed to: an https, ssh or file URL, or user@host:path. Without it the ledger stays local."`
}

// Branch is the branch of the git ledger.
type Branch struct {
	LedgerBranch string `env:"LEDGER_BRANCH" default:"main" help:"The branch of the ledger."`
}

// Ledger is the git ledger of the picks.
type Ledger struct {
	Remote
	Branch

	LedgerURL           string `env:"LEDGER_URL" name:"ledger-url" help:"Where readers find the ledger, as answers say it. Default: LEDGER_REMOTE, if that is an https URL."`
	LedgerAuthorName    string `env:"LEDGER_AUTHOR_NAME" default:"Tidemark" help:"Name of the ledger's committer. It is part of each commit: the same for every worker, and never changed."`
	LedgerAuthorEmail   string `env:"LEDGER_AUTHOR_EMAIL" default:"ledger@tidemark.invalid" help:"Mail address of the ledger's committer. The same for every worker, and never changed."`
	LedgerSigningKey    string `env:"LEDGER_SIGNING_KEY" help:"File of an OpenSSH Ed25519 private key without a passphrase, mode 0600, that signs the ledger's commits. Without it they are not signed."`
	LedgerSSHKey        string `env:"LEDGER_SSH_KEY" name:"ledger-ssh-key" help:"File of the private key for a remote reached by ssh. Default: the agent's keys."`
	LedgerSSHKnownHosts string `env:"LEDGER_SSH_KNOWN_HOSTS" name:"ledger-ssh-known-hosts" help:"File with the ssh remote's host key. Default: the user's own and the system's file."`
	LedgerHTTPUser      string `env:"LEDGER_HTTP_USER" name:"ledger-http-user" help:"User for a remote reached by https. Most hosts take any with a token."`
	LedgerHTTPToken     string `env:"LEDGER_HTTP_TOKEN" name:"ledger-http-token" secret:"true" help:"Token for a remote reached by https."`
}

// TransparencyLog holds the settings of the log of all announced statements, and of the witnesses that cosign it.
type TransparencyLog struct {
	LogOrigin    string `env:"LOG_ORIGIN" first:"true" help:"Name of the transparency log, which never changes: a host and a path without a scheme (tidemark.example/log). Without it no log is kept; the sandbox has its own."`
	LogKeyFile   string `env:"LOG_KEY_FILE" help:"File with the private keys of the log, mode 0600: tidemark log key makes it. Its folder also has the largest signed sizes: keep it on another disk than the database."`
	LogWitnesses string `env:"LOG_WITNESSES" help:"File with the witnesses that are asked to cosign, and how many of them are a quorum: C2SP's tlog-policy, with a URL for each witness. Without it no witness is asked."`
	TSAURL       string `env:"TSA_URL" name:"tsa-url" help:"Address of a time-stamp authority (RFC 3161), which stamps each signed size of the log that first holds a seal. Without it nothing is stamped."`
	TSACAFile    string `env:"TSA_CA_FILE" name:"tsa-ca-file" help:"File with the root certificates of the authority at TSA_URL, in PEM. Default: the roots of this system."`
}

// Monitor holds the settings of the monitor, which checks transparency logs from outside.
type Monitor struct {
	MonitorPolicy   string        `env:"MONITOR_POLICY" help:"File with the logs that the monitor follows, each with its URL, their witnesses and how many of them are a quorum: C2SP's tlog-policy. Without it the monitor follows nothing."`
	MonitorEvery    time.Duration `env:"MONITOR_EVERY" default:"1m0s" help:"The pause between two looks of the monitor."`
	MonitorCadence  time.Duration `env:"MONITOR_CADENCE" default:"26h0m0s" help:"How old the newest quorum over a log may be, or its newest leaf where the policy asks no witness, before the monitor calls the log stopped."`
	MonitorRPC      string        `env:"MONITOR_RPC" name:"monitor-rpc" secret:"true" help:"JSON-RPC addresses of nodes of the L2 that the monitor trusts, separated by commas. Without it the attestations of a log's server are compared only if that server runs on this machine."`
	MonitorAttester string        `env:"MONITOR_ATTESTER" help:"The account that must have attested the picks of a log's server. Default: the account that the server names."`
}

// Node is the access to the L2.
type Node struct {
	BaseRPCURL  string `env:"BASE_RPC_URL" first:"true" name:"base-rpc-url" secret:"true" help:"JSON-RPC addresses of nodes of the L2, separated by commas; a node that fails is passed over. Without it up starts a development chain in the sandbox, and elsewhere nothing is attested."`
	BaseChainID uint64 `env:"BASE_CHAIN_ID" name:"base-chain-id" default:"8453" help:"Id of the L2: 8453 is Base, 84532 Base Sepolia. A node of another chain is refused."`
}

// Attester holds the settings of the account that attests the picks on the L2.
type Attester struct {
	Node

	EASAddress           string `env:"EAS_ADDRESS" name:"eas-address" default:"0x4200000000000000000000000000000000000021" help:"Contract of the Ethereum Attestation Service."`
	EASSchemaRegistry    string `env:"EAS_SCHEMA_REGISTRY" name:"eas-schema-registry" default:"0x4200000000000000000000000000000000000020" help:"Its SchemaRegistry."`
	EASStartBlock        uint64 `env:"EAS_START_BLOCK" name:"eas-start-block" default:"0" help:"Logs are read from this block on. It must come before the attester's first attestation. tidemark chain setup names one."`
	ExplorerURL          string `env:"EXPLORER_URL" help:"Block explorer that answers link to. Default: Basescan for Base and Base Sepolia."`
	AttesterKeyFile      string `env:"ATTESTER_KEY_FILE" help:"File with the attester's private key, mode 0600: 64 hex digits, or an encrypted keystore. Without it attestations stay pending."`
	AttesterPasswordFile string `env:"ATTESTER_PASSWORD_FILE" help:"File, mode 0600, whose first line is the keystore's password."`
	AttesterDailyGwei    int64  `env:"ATTESTER_DAILY_GWEI" default:"5000000" help:"The most that the attestations of one UTC day may cost together, in gwei (0.005 ether)."`
	AttesterMaxGwei      int64  `env:"ATTESTER_MAX_GWEI" default:"10" help:"The most that a unit of gas may cost an attestation, in gwei."`
}

// Payments holds the settings of how clients pay.
type Payments struct {
	BillingModel        string `env:"BILLING_MODEL" first:"true" default:"balance" help:"How the service is paid for: balance (each request deducts its price) or plan (Free and Pro, with daily quotas)."`
	X402Network         string `env:"X402_NETWORK" name:"x402-network" default:"base" help:"Network of payments by request: base, base-sepolia, or a CAIP-2 name as eip155:8453."`
	X402Asset           string `env:"X402_ASSET" name:"x402-asset" help:"Contract of the stablecoin. Default: USDC of the network."`
	X402AssetName       string `env:"X402_ASSET_NAME" name:"x402-asset-name" help:"Name in its EIP-712 domain, which payers sign for. Default: the name of USDC on the network."`
	X402AssetVersion    string `env:"X402_ASSET_VERSION" name:"x402-asset-version" help:"Version in its EIP-712 domain. Default: the version of USDC."`
	X402PayTo           string `env:"X402_PAY_TO" name:"x402-pay-to" help:"Account that payments by request go to, and transfers that keys are topped up with. Its key is needed nowhere."`
	StripeSecretKey     string `env:"STRIPE_SECRET_KEY" secret:"true" help:"Key of the Stripe API. With it and STRIPE_WEBHOOK_SECRET balances can be topped up by card on the dashboard."`
	StripeWebhookSecret string `env:"STRIPE_WEBHOOK_SECRET" secret:"true" help:"Signing secret of the Stripe webhook that sends its events to PUBLIC_URL/webhooks/stripe: checkout.session.completed, charge.refunded, refund.failed and charge.dispute.*."`
	StripeAPIURL        string `env:"STRIPE_API_URL" name:"stripe-api-url" default:"https://api.stripe.com" help:"Where the Stripe API is; another address for tests."`
}

// Webhooks holds the settings of pushes to the webhooks of keys.
type Webhooks struct {
	WebhooksPrivate bool `env:"WEBHOOKS_PRIVATE" default:"false" help:"true: webhooks of keys may use http, any port, and addresses of this machine and of private networks. Only for a sandbox or a replay: the live world refuses it."`
}

// Alerts holds the thresholds of alerts and the channels that deliver them.
type Alerts struct {
	AlertWebhookURL  string `env:"ALERT_WEBHOOK_URL" first:"true" secret:"true" help:"Address that alerts are posted to, as JSON whose member text chat services show. Alerts are always logged."`
	AlertSMTPURL     string `env:"ALERT_SMTP_URL" name:"alert-smtp-url" secret:"true" help:"Mail server that alerts are sent by: smtp://user:password@host:port, or smtps."`
	AlertRunwayDays  int    `env:"ALERT_RUNWAY_DAYS" default:"14" help:"For how many days of attestations the attester's balance must pay, or an alert is raised."`
	AlertBackupHours int    `env:"ALERT_BACKUP_HOURS" default:"26" help:"How many hours old the newest backup may be, or an alert is raised. Without any backup of tidemark backup there is no such alert."`
}

// AlertMail holds the sender and recipients of alert mails.
type AlertMail struct {
	AlertMailFrom string `env:"ALERT_MAIL_FROM" help:"Sender of mails about alerts."`
	AlertMailTo   string `env:"ALERT_MAIL_TO" help:"Who gets them: mail addresses, separated by commas."`
}

// Work holds the settings of a worker: how it runs tasks, and how long it keeps data.
type Work struct {
	Concurrency                int  `env:"CONCURRENCY" first:"true" default:"4" help:"How many tasks a worker runs at once, without the tasks of TIMELY_CONCURRENCY."`
	TimelyConcurrency          int  `env:"TIMELY_CONCURRENCY" default:"4" help:"How many tasks with a clock a worker runs at once besides: picks, announcements and attestations. They wait for no other work. As many run besides that ask about payments."`
	PaymentsRequireSenderProof bool `env:"PAYMENTS_REQUIRE_SENDER_PROOF" default:"false" help:"true: a transfer tops up only the key that its sender has signed for. Payments from exchanges, which cannot sign, are then refused."`
	ColdAfter                  int  `env:"ARCHIVE_COLD_AFTER_DAYS" name:"archive-cold-after-days" default:"400" help:"After how many whole days raw bytes are moved to ARCHIVE_COLD_URL, counted from when they were written."`
	KeepRunsDays               int  `env:"KEEP_RUNS_DAYS" default:"400" help:"For how many days finished runs stay in the run log; 0: permanently. The newest of each job and subject, and the runs of backfills, always stay."`
	KeepUsageDays              int  `env:"KEEP_USAGE_DAYS" default:"800" help:"For how many days the counts of requests by key and day are kept; 0: permanently. Payments are kept permanently."`
	KeepQuotesDays             int  `env:"KEEP_QUOTES_DAYS" default:"40" help:"For how many days a key's hold of an amount for a transfer is kept, from its end; 0: permanently."`
	KeepAlertsDays             int  `env:"KEEP_ALERTS_DAYS" default:"400" help:"For how many days past alerts are kept; 0: permanently."`
}

// Tracing holds the destination of OpenTelemetry traces.
type Tracing struct {
	OTLPEndpoint    string  `env:"OTEL_EXPORTER_OTLP_ENDPOINT" name:"otel-exporter-otlp-endpoint" help:"Base URL of an OpenTelemetry collector (http://127.0.0.1:4318), which traces are sent to as OTLP over HTTP. Without it no traces are sent."`
	OTLPHeaders     string  `env:"OTEL_EXPORTER_OTLP_HEADERS" name:"otel-exporter-otlp-headers" secret:"true" help:"Header fields for the collector: name=value, separated by commas, values percent-encoded."`
	OTLPTimeout     int     `env:"OTEL_EXPORTER_OTLP_TIMEOUT" name:"otel-exporter-otlp-timeout" default:"10000" help:"For how many milliseconds the collector is waited for."`
	OTelService     string  `env:"OTEL_SERVICE_NAME" name:"otel-service-name" default:"tidemark" help:"What traces call this program."`
	OTelAttributes  string  `env:"OTEL_RESOURCE_ATTRIBUTES" name:"otel-resource-attributes" help:"What traces tell of this installation (deployment.environment.name=production), in the form of OTEL_EXPORTER_OTLP_HEADERS."`
	OTelTracesShare float64 `env:"OTEL_TRACES_SAMPLER_ARG" name:"otel-traces-sampler-arg" default:"1" help:"Which part of all traces is recorded, from 0 to 1."`
}
