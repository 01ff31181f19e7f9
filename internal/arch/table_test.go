// Package arch holds the import rules: a table, and a test that checks the whole module against it. The test compares every import with the
// package's row, and everything that a package reaches with the packages that its row forbids. Each package must have a package comment. A
// package without a row fails, so a new package needs a reviewed decision. Tests may import any package.
package arch

// row lists the packages of this module that the packages named in rooms may import (may), and the packages that they must never reach,
// even through others (never). Names are paths within the module, separated by commas. A name ending in /* covers the packages directly
// below that have no row. A name ending in /... covers a package and everything below it. Rooms may also be "any room", "any room but cmd"
// or "any room but tests". never holds words of the list below, or packages, each with everything below it.
type row struct{ rooms, may, never string }

const (
	nothing  = ""
	anyRoom  = "any room"
	noTests  = "any room but tests"
	noCmd    = "any room but cmd"
	theirOwn = "other sources"
)

var table = []row{
	// The root, ".", holds the changelog, and the code of the methods.
	{".", nothing, nothing},

	// The vocabulary and the rules: leaves.
	{"internal/series, internal/equity, accounts, migrations, deploy, ingest/world/synth, internal/nearest, internal/plain, internal/scram", nothing, nothing},
	{"internal/codehash", ".", "net/http, database drivers, os/exec"},
	{"internal/sharpe", nothing, "net/http, database drivers, os/exec"},
	{"internal/config", "internal/nearest", nothing},
	{"internal/concepts", "internal/equity", "net/http, database drivers, os/exec"},
	{"chain", "internal/calendar", "net/http, database drivers, os/exec, other modules"},
	{"internal/calendar", nothing, "net/http, database drivers, os/exec, other modules"},
	{"internal/columns", nothing, "net/http, database drivers, os/exec"},
	{"internal/httpserve, internal/publicnet", nothing, nothing},
	{"internal/pushes", "internal/publicnet", "asynq, database drivers, pgx"},
	{"internal/locale", nothing, "net/http, database drivers, os/exec"},
	{"internal/locale/*", "internal/locale", nothing},
	{"internal/locale/languages", "internal/locale, internal/locale/*", nothing},
	{"internal/task, internal/redisurl", nothing, "asynq, pgx"},
	{"internal/telemetry", "internal/plain", "asynq, pgx"},

	// From the outside to observations.
	{"ingest, ingest/quality", "internal/series, internal/equity, internal/telemetry", "signals, picks, internal/postgres"},
	{"ingest/inspection", "ingest, ingest/quality, internal/series", "signals, picks, internal/postgres"},
	{"ingest/companies", "ingest, ingest/quality, internal/calendar, internal/equity, internal/nearest, internal/series", "signals, picks, internal/postgres"},
	{"ingest/*", "ingest, internal/series, internal/equity, internal/concepts, ingest/world/synth", theirOwn},
	{"ingest/sources", "ingest, ingest/*, ingest/world, ingest/world/synth, internal/config", nothing},
	{"ingest/ingesttest", "ingest, internal/series", nothing},
	{"ingest/archive", "ingest, internal/series", "signals, picks, internal/postgres"},
	{"ingest/world", "ingest, ingest/archive, ingest/world/synth, internal/publicnet, internal/series", "signals, picks, internal/postgres"},

	// From observations to published and recorded data.
	{"signals", "internal/series, internal/codehash, internal/locale", "net/http, pgx"},
	{"signals/forecast, signals/changes", "signals, internal/series, internal/codehash", "net/http, pgx"},
	{"picks", "internal/series, internal/codehash, internal/equity, internal/concepts, internal/calendar, internal/locale, internal/locale/languages, signals, chain", "net/http, pgx"},
	{"picks/writer", "picks", "pgx"},
	{"picks/evaluation", "picks, internal/equity, internal/sharpe", "net/http, pgx"},
	{"picks/backtest", "picks, internal/equity, internal/calendar, internal/codehash, internal/sharpe", "net/http, pgx"},
	{"chain/tlog", "chain", "net/http, database drivers, os/exec"},
	{"chain/timestamp", nothing, "database drivers, os/exec"},
	{"chain/witness", "chain/tlog", "pgx"},
	{"chain/monitor", "chain, chain/tlog, chain/witness, signals/forecast", "pgx, api"},
	{"chain/gitledger", "chain", "pgx"},
	{"chain/base", "chain", "pgx"},
	{"chain/audit", "chain, chain/gitledger, chain/base, chain/tlog, internal/calendar, internal/publicnet", "pgx, api"},
	{"accounts/x402, accounts/stripe", "accounts", "pgx"},
	{"accounts/claims", "accounts, chain/base", "pgx"},

	// When and how work is done. Main passes the entries and the store to the scheduler.
	{"scheduler", "internal/task, internal/redisurl, internal/telemetry", "signals, internal/postgres"},
	{
		"internal/postgres",
		"internal/series, internal/equity, internal/calendar, internal/columns, signals, signals/forecast, signals/changes, picks, chain, chain/tlog, accounts, migrations, internal/scram, internal/task, internal/telemetry",
		"ingest, asynq",
	},
	{"backfill", "internal/nearest, internal/series, signals, ingest, internal/task, internal/postgres", "api"},
	{
		"workers",
		"internal/nearest, internal/plain, internal/task, internal/series, internal/equity, internal/calendar, internal/columns, signals, signals/forecast, ingest, ingest/archive, ingest/companies, ingest/inspection, ingest/quality, picks, picks/backtest, picks/evaluation, picks/writer, chain, " +
			"chain/timestamp, chain/tlog, chain/witness, chain/gitledger, chain/base, accounts, accounts/claims, accounts/x402, accounts/stripe, backfill, internal/pushes, internal/postgres, internal/redisurl, internal/telemetry",
		"api",
	},

	// Entry points.
	{
		"api",
		"api/fastpath, api/endpoint, api/view, internal/locale/languages, internal/nearest, internal/series, signals, picks, chain, chain/tlog, accounts, accounts/x402, accounts/stripe, internal/httpserve, internal/pushes, internal/postgres, internal/redisurl, internal/telemetry",
		"ingest, workers, scheduler, chain/base, asynq",
	},
	{"api/fastpath", nothing, nothing},
	{"api/endpoint", "api/view, picks, accounts, internal/locale/languages", "ingest, workers, scheduler, chain/base, asynq"},
	{
		"api/view",
		"internal/series, internal/equity, internal/calendar, internal/columns, internal/locale, internal/locale/languages, internal/sharpe, signals, signals/forecast, signals/changes, picks, picks/evaluation, chain, chain/tlog, accounts, internal/pushes, internal/postgres, internal/telemetry",
		"ingest, workers, scheduler, chain/base, asynq",
	},
	{"api/pages/plot", nothing, "net/http, database drivers, os/exec, other modules"},
	{"api/pages/card", nothing, "net/http, database drivers, os/exec"},
	{"api/openapi", "api/view, accounts", "ingest, workers, scheduler, chain/base, asynq"},
	{"api/discovery", "internal/locale/languages, api/endpoint, api/view, api/openapi, signals, signals/forecast, chain/tlog, accounts", "ingest, workers, scheduler, chain/base, asynq"},
	// The generator and the content of the API description; the program includes the generated files.
	{"api/openapi/generate", "api/openapi, api/endpoint, api/view, signals, signals/changes, signals/forecast, picks, accounts, accounts/x402, internal/pushes, internal/postgres", "ingest, workers"},
	{"api/openapi/contract", "api/openapi", nothing},
	{
		"api/mcp, api/pages",
		"., internal/calendar, internal/locale, internal/locale/languages, internal/nearest, api/view, api/pages/card, api/pages/plot, signals, signals/forecast, picks, chain, accounts, accounts/stripe, internal/telemetry",
		"ingest, workers, scheduler, chain/base, asynq",
	},
	{
		"internal/ops",
		"., api/view, internal/nearest, internal/plain, internal/series, internal/calendar, signals, chain, chain/tlog, accounts, backfill, internal/task, internal/httpserve, internal/postgres, internal/redisurl, internal/telemetry",
		nothing,
	},

	// Tools around the program.
	{"internal/devchain, internal/devstack", "chain, accounts, migrations, internal/config", nothing},
	{"internal/backup", "chain/gitledger, ingest/archive, internal/postgres", "api"},
	{"internal/pgtest", "chain, accounts, migrations, internal/config, internal/devstack, internal/scram", nothing},
	{"internal/devstack/redisgroup", "internal/devstack", nothing},
	{"internal/telemetry/collector", nothing, "asynq, pgx"},
	{"internal/arch", nothing, nothing},
	{"internal/simulate", noCmd, nothing},
	{"test/...", anyRoom, nothing},
	{"examples/go", nothing, "pgx"},
	{"bench", noCmd, nothing},
	{"cmd/tidemark", noTests, nothing},
}

// testRooms are the packages that "any room but tests" excludes.
const testRooms = "internal/arch, internal/devstack/redisgroup, internal/pgtest, internal/telemetry/collector, test/..."

// words of the never column that are not packages of the module, as import paths. Each covers the path and everything below it.
var words = map[string][]string{
	"net/http":         {"net/http"},
	"os/exec":          {"os/exec"},
	"database drivers": {"database/sql", "github.com/jackc/pgx", "github.com/lib/pq"},
	"pgx":              {"github.com/jackc/pgx"},
	"asynq":            {"github.com/hibiken/asynq"},
}

// modules are the libraries that only some packages may import: the import path, with everything below it, and the packages that may import
// it.
var modules = []struct{ path, rooms string }{
	{"github.com/hibiken/asynq", "scheduler, workers, internal/ops"},
	{"github.com/hibiken/asynqmon", "internal/ops"},
	{"github.com/redis/go-redis", "internal/redisurl, api"},
	{"github.com/prometheus", "internal/telemetry"},
	{"github.com/jackc/pgx", "internal/postgres, internal/pgtest, internal/devstack, internal/simulate"},
	{"github.com/pressly/goose", "internal/postgres, internal/pgtest"},
	{"github.com/ethereum/go-ethereum", "chain/base, internal/devchain"},
	{"golang.org/x/mod", "chain/tlog, chain/witness"},
	{"github.com/holiman/uint256", "internal/devchain"}, // the numbers of go-ethereum's EVM
	{"github.com/gocolly/colly", "ingest, ingest/*"},
	{"github.com/xuri/excelize", "ingest/*"},
	{"github.com/extrame/xls", "ingest/*"},
	{"github.com/fergusstrange/embedded-postgres", "internal/devstack"},
	{"github.com/alicebob/miniredis", "internal/devstack"},
	{"github.com/alecthomas/kong", "cmd/tidemark"},
	{"github.com/klauspost/compress", "internal/columns"},
	{"github.com/santhosh-tekuri/jsonschema", "api/openapi/contract"},
	{"go.opentelemetry.io/otel/sdk", "internal/telemetry"},
	{"go.opentelemetry.io/otel/exporters", "internal/telemetry"},
}
