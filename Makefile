# `make help` lists what there is to do. Everything works as root and as an ordinary user.

SHELL := bash
.DEFAULT_GOAL := help

# Where `make deps` puts server programs that it may not install: the tests and `make run` find them here.
export PATH := $(CURDIR)/.cache/debian/bin:$(PATH)

# The compiler collects its garbage less often, and makes no debug information, which no target reads: a quarter of compiling. What
# GOFLAGS has already counts more. A make that this one starts has them from here.
ifeq ($(findstring -toolexec,$(GOFLAGS)),)
export GOFLAGS := '-toolexec=env GOGC=400 GOMEMLIMIT=2GiB' -gcflags=all=-dwarf=false $(or $(GOFLAGS),$(shell go env GOFLAGS))
endif

LINT := .cache/golangci-lint
GETH := .cache/geth
# How long all fuzz targets run together.
FUZZ_SECONDS ?= 60
# How long things go wrong in each set-up of `make chaos`, and what decides them; 0: any.
CHAOS_SECONDS ?= 300
CHAOS_SEED ?= 0
# How many days all roles live through beside each other in `make contention`, and what draws the pauses; 0: any.
CONTENTION_DAYS ?= 14
CONTENTION_SEED ?= 0
# How many pairs of a statement and a class of error `make sweep` tries; -1: all.
SWEEP_PAIRS ?= -1
# How many pairs were tried before under the same seed.
SWEEP_FROM ?= 0
# The first seed of a simulation.
SIMULATE_SEED ?= 1

.PHONY: help
help: ## Say what there is to do
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/' | expand -t 14

.PHONY: run
run: ## Start everything on made-up data and say where to look
	@echo 'Compiling the program: the first time this takes a minute, on a busy machine several'
	@go run ./cmd/tidemark up --world=sandbox --ops-addr=127.0.0.1:8081

.PHONY: test
test: ## Check everything, as CI does
	@tools/check.sh deps modules build format lint \
		then race beside contracts e2e-payments public-witness processes \
		then contention-short then chaos-short conformance beside fuzz simulate-short computing beside browser

.PHONY: deps
deps: ## Make sure that PostgreSQL and Redis are on this machine
	@tools/deps.sh
	@tools/deps.sh promtool
	@tools/deps.sh pandas
	@tools/deps.sh r

.PHONY: modules
modules: ## Check that go.mod and go.sum are complete and true
	go mod tidy -diff
	go mod verify

.PHONY: build
build: ## Compile everything but the tests
	go build ./...

.PHONY: format
format: $(LINT) ## Check the format of the Go files
	@$(LINT) fmt --diff || { echo 'Not formatted: run make fmt'; exit 1; }

.PHONY: fmt
fmt: $(LINT) ## Format the Go files
	$(LINT) fmt

.PHONY: lint
lint: $(LINT) ## Run the linters, all checks of go vet among them
	GOGC=400 GOMEMLIMIT=3GiB $(LINT) run ./...
	go vet -C bench/fasthttp ./...

.PHONY: race
race: ## Run the tests with the race detector, three packages at a time because many of them wait, the longest first (lint looks at all code before)
	go test -race $(UNWATCHED_FLAGS) -vet=off -p 3 -timeout 45m -run '$(AT_ONCE)' $(addprefix ./,$(subst |, ,$(AT_ONCE_PACKAGES)))
	go test -race $(UNWATCHED_FLAGS) -vet=off -p 3 -timeout 45m -skip '$(COMPUTING)' $(LONGEST) \
		$$(go list ./... | grep -vxE 'tidemark/($(COMPUTING_PACKAGES)|$(PROCESS_PACKAGES))')

# Packages of others that compute in the goroutine that calls them, over what it gives them: they pack, match, parse and hash. The race
# detector takes most of its time in them, so they are compiled without it. All our code, and what goroutines share, stay under it.
# A test of internal/arch follows the list: none starts a goroutine or uses sync/atomic, which would no longer order anything.
UNWATCHED = \
	compress/flate \
	crypto/internal/fips140/hmac \
	crypto/internal/fips140/pbkdf2 \
	crypto/internal/fips140/sha256 \
	crypto/pbkdf2 \
	github.com/alecthomas/kong \
	github.com/pressly/goose/v3/internal/sqlparser \
	go.yaml.in/yaml/v3 \
	hash/adler32 \
	image/png \
	regexp \
	text/template/parse
UNWATCHED_FLAGS = $(UNWATCHED:%=-gcflags=%=-race=false)

# Linking and waiting for them fills the whole step, so that none is left alone at its end.
LONGEST = ./workers ./api ./cmd/tidemark ./internal/postgres ./test/tamper ./test/payments

# Suites that start the program as processes of its own. These are built without the race detector, so it would watch the suites' own lines
# alone. A test of internal/arch follows the list.
PROCESS_PACKAGES = test/extend|test/faults|test/up

.PHONY: processes
processes: ## Run the suites that start the program as processes, without the race detector, two at a time
	go test -vet=off -p 2 -timeout 45m $(addprefix ./,$(subst |, ,$(PROCESS_PACKAGES)))

# Packages and tests that compute in one goroutine: the race detector makes them five to ten times as long and finds there what others find.
# The tests of such a package that start goroutines stay under it. A test of internal/arch follows the lists.
COMPUTING_PACKAGES = api/openapi/generate|chain/tlog|$(AT_ONCE_PACKAGES)|ingest/quality|internal/arch|internal/sharpe|picks|picks/backtest|picks/evaluation|signals/changes|test/record|test/replay|test/stats|test/verdicts
AT_ONCE_PACKAGES = ingest/edgar|ingest/eia|ingest/nass|ingest/portwatch|ingest/prices|ingest/temis|ingest/worldbank|signals
AT_ONCE = AtOnce$$|^TestSandboxOfOneSeedIsOneHistory$$
COMPUTING = ^($(subst $(space),|,$(COMPUTING_TESTS)))$$
COMPUTING_TESTS = \
	TestACommandListsTheSettingsThatItReadsAndNoOthers \
	TestADatabaseOfAnotherWorldIsNeitherMigratedNorLookedAt \
	TestALimitIsAWholeNumberFromOneOnInEveryCommand \
	TestAPlaceIsWhereTheBytesStateTheReading \
	TestASeedDecidesEverythingThatHappensInASimulation \
	TestAnArchiveAloneMakesAYearAgain \
	TestAnUnannouncedPickStaysUnseen \
	TestAnUpstreamOfASandboxBehavesAsItWasTold \
	TestCommandsOfTheDocumentsExist \
	TestEveryChangeOfTheServedChainIsFound \
	TestEveryForkIsRefusedAndEveryHonestUpdateTaken \
	TestExplainFromOutsideFindsALieBesideTheNumbers \
	TestExplainFromOutsideFindsEveryLie \
	TestExplainFromOutsideRunsTheBacktestAgain \
	TestRecomputesOfNewObservationsAreWholeOnes \
	TestTheNamedPartsAddUpToTheWholeAsItIsWritten \
	TestThePastComesOutBitForBit
space := $(subst ,, )

.PHONY: computing
computing: ## Run the tests that compute for long in one goroutine, without the race detector
	go test -vet=off -timeout 20m $(addprefix ./,$(subst |, ,$(COMPUTING_PACKAGES)))
	go test -vet=off -timeout 20m -run '$(COMPUTING)' ./api ./api/view ./chain/witness ./cmd/tidemark ./ingest/sources ./internal/postgres ./test/tamper ./workers
	go test -vet=off -timeout 20m -run 'TestThePartsOfADifferenceAddUpToIt$$' ./signals/changes -changes.pairs 10000

.PHONY: contracts
contracts: ## Attest on the contracts that EAS publishes, and compile ours again (with npm; says so where its registry is away)
	@tools/contracts.sh

.PHONY: public-witness
public-witness: ## Have our log cosigned by the witness of transparency-dev, and cosign for its clients
	cd test/witnesses && go vet ./... && go test ./...

.PHONY: e2e-payments
e2e-payments: $(GETH) ## Pay by request with the clients that the x402 project publishes, on go-ethereum's node
	@tools/e2e-payments.sh $(GETH)

.PHONY: conformance
conformance: ## Hold the running program to the suites that others publish for its contracts (with npm)
	@tools/conformance.sh

.PHONY: browser
browser: ## Drive the pages in Chromium, and keep pictures of them in build/screenshots (with npm)
	@tools/browser.sh

.PHONY: pictures
pictures: ## Take a picture of every page in every state into build/screenshots: three widths, light, dark, large text, no script
	@tools/browser.sh -pictures

.PHONY: lighthouse
lighthouse: ## Score the pages of a running server with Lighthouse (LIGHTHOUSE_URL; with npm)
	@tools/lighthouse.sh $(LIGHTHOUSE_URL)

.PHONY: phrasebook
phrasebook: ## Print every sentence in four languages with extreme values, and whole texts, for reading: build/phrasebook.md
	go test -count=1 -v ./picks -run 'TestPhrasesHoldExtremeValues|TestWholeTexts' -phrasebook '$(CURDIR)/build/phrasebook.md'

.PHONY: filings
FACTS ?=
VALUES ?=
filings: ## Count what the method knows of real filings: debt, shares, revenue, market value, F-scores (FACTS=folder of the SEC's company facts, VALUES=file of market values)
	go test -count=1 -v ./picks -run 'TestCoverageOfRealFilings|TestRevenueOfTwelveMonths|TestFScoreOfApple|TestMarketValueAgrees' -facts='$(FACTS)' -values='$(VALUES)'

.PHONY: book
book: ## Write 100 cards of real companies into build/book, for reading, and compare their figures with the filings by other code
	go test -count=1 ./picks -run TestTheBookOfRealCards -book '$(CURDIR)/build/book'
	python3 tools/book.py build/book ../shared/upstream/sec-edgar/facts-trimmed ../shared/upstream/prices-yahoo/ohlcv-2010-2022

.PHONY: simulate
simulate: ## Live through two years of faults under 20 seeds, on a virtual clock, three at a time (takes hours)
	@go run ./cmd/tidemark simulate --from 2020-01-06 --to 2022-01-06 --seed $(SIMULATE_SEED) --seeds 20 --parallel 3

.PHONY: simulate-short
simulate-short: ## Live through two months of faults under one seed (with a leap day and a change of the clocks)
	@go run ./cmd/tidemark simulate --from 2020-02-10 --to 2020-04-11 --seed $(SIMULATE_SEED)

# How many companies are followed while growth is measured.
GROWTH_COMPANIES ?= 60
# How long the records are. Prices begin in 2018, which is time for 2,500 picks.
GROWTH_PICKS ?= 100 500 1000 2500

.PHONY: growth
growth: ## Measure what a simulated day costs after records of some lengths, which are made up (takes minutes)
	@for picks in $(GROWTH_PICKS); do \
		go run ./cmd/tidemark simulate --calm --companies $(GROWTH_COMPANIES) --record $$picks --from 2028-01-02 --to 2028-01-15 --seed $(SIMULATE_SEED) || exit; \
	done

.PHONY: growth-lived
growth-lived: ## Live through a record of 500 picks, and measure what a day costs meanwhile (takes an hour)
	@go run ./cmd/tidemark simulate --calm --companies $(GROWTH_COMPANIES) --from 2020-01-06 --to 2022-02-01 --seed $(SIMULATE_SEED)

# How many days the roles live through while their memory is measured.
MEMORY_DAYS ?= 30

.PHONY: memory
memory: ## Measure how much memory a scheduler, a worker and an API take as processes of their own (needs psql)
	@tools/memory.sh $(MEMORY_DAYS)

.PHONY: chaos
chaos: ## Kill, freeze and restart real processes for five minutes, on one Redis, on Sentinels and on a Cluster
	@go test -count=1 -v -timeout 90m -run 'TestChaos$$' ./test/chaos -seconds $(CHAOS_SECONDS) -seed $(CHAOS_SEED)
	@go test -count=1 -v -timeout 60m -run 'TestNothingPushedIsLost$$' ./test/faults -pushes.listeners 500 -pushes.webhooks 50 -pushes.outage 1m

.PHONY: chaos-short
chaos-short: ## The same for one minute on one Redis
	@go test -count=1 -v -timeout 20m -run 'TestChaos$$/^plain$$' ./test/chaos -seconds 60 -seed $(CHAOS_SEED)

.PHONY: contention
contention: ## Live through two weeks with all roles beside each other, with random delays, and look for deadlocks
	@go test -count=1 -v -timeout 3h -run 'TestRolesBesideEachOther$$' ./cmd/tidemark -contention.days $(CONTENTION_DAYS) -contention.seed $(CONTENTION_SEED)

.PHONY: contention-planted
contention-planted: ## Put the old deadlock of the dispatcher back for one build, and see that it is found
	@tools/contention-planted.sh $(CONTENTION_DAYS) $(CONTENTION_SEED)

.PHONY: sweep
sweep: ## Let every statement fail once with every error that passes by itself, and compare every row
	@go test -count=1 -v -timeout 6h -run 'TestEveryStatementMayFailOnce$$' ./cmd/tidemark -sweep.pairs $(SWEEP_PAIRS) -sweep.from $(SWEEP_FROM) -contention.seed $(CONTENTION_SEED)

.PHONY: contention-short
contention-short: ## Two days of the one, and a sample of the other
	@go test -count=1 -v -timeout 30m -run '(TestRolesBesideEachOther|TestEveryStatementMayFailOnce)$$' ./cmd/tidemark \
		-contention.days 2 -sweep.pairs 40 -sweep.group 40 -contention.seed $(CONTENTION_SEED)

# How many fresh sandboxes `make first-run` starts, how many of them at once, and how many days each lives through.
FIRST_RUNS ?= 20
FIRST_RUNS_AT_ONCE ?= 1
FIRST_RUN_DAYS ?= 40

.PHONY: first-run
first-run: ## Start 20 fresh sandboxes, one after the other, beside four busy loops on two cores (takes an hour)
	@tools/first-run.sh $(FIRST_RUNS) --sandbox-days=$(FIRST_RUN_DAYS) --at-once=$(FIRST_RUNS_AT_ONCE)

# How many days the sandbox of `make forecasts` lives through: a fortnight and two years.
FORECAST_DAYS ?= 745

.PHONY: forecasts
forecasts: ## Let a sandbox forecast and grade all six signals for two years, and recompute its record twice (takes an hour)
	@tools/forecast-years.sh --days=$(FORECAST_DAYS)

.PHONY: forecasts-short
forecasts-short: ## The same for forty days
	@tools/forecast-years.sh --days=40

.PHONY: first-signal
first-signal: ## Measure how long it takes from `make run` to six signals and to the present (FIRST_SIGNAL=cold: with empty caches)
	@tools/first-signal.sh $(FIRST_SIGNAL)

.PHONY: size
size: ## Say how large the program is, and of how many packages
	@tools/size.sh

.PHONY: bench
bench: ## Measure against what others make of the same work, side by side
	@tools/deps.sh
	@tools/deps.sh pandas
	@go run ./bench

.PHONY: fuzz
fuzz: ## Run each fuzz target for its share of FUZZ_SECONDS
	@tools/fuzz.sh $(FUZZ_SECONDS)

$(LINT): tools/go.mod tools/go.sum
	@echo 'Building the linters, once: this takes some minutes'
	@mkdir -p $(@D)
	cd tools && go build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(GETH): test/payments/geth/go.mod test/payments/geth/go.sum
	@echo "Building go-ethereum's node for the tests, once: this takes some minutes"
	@mkdir -p $(@D)
	cd test/payments/geth && go build -o $(CURDIR)/$@ github.com/ethereum/go-ethereum/cmd/geth
	@touch $@
