#!/usr/bin/env bash
# Runs the tests of the L2 on the contracts that EAS publishes, and compiles the development chain's contracts again with the published
# compiler. The packages are fetched once, into the user's cache. Where npm cannot reach its registry, and has not fetched them before,
# there is nothing to run, and it says so.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
	echo "SKIPPED, nothing was attested on the contracts that EAS publishes: $1"
	exit 0
}

command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no node or npm on this machine'
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tidemark-test
if ! compgen -G "$cache/ethereum-attestation-service-eas-contracts-*" >/dev/null || ! compgen -G "$cache/solc-*" >/dev/null; then
	npm view solc name >/dev/null 2>&1 || skip 'npm cannot reach its registry'
fi
go test -count=1 -run '/the_contracts_of_EAS$' ./chain/base -npm
go test -count=1 -run '^Test(Bytecode|Interfaces)' ./internal/devchain -npm
