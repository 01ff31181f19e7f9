#!/usr/bin/env bash
# Says what the program weighs: of how many packages it is linked, and how large it is as `go build` makes it, as the Dockerfile does, and
# compressed.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
go build -o "$out/plain" ./cmd/tidemark
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$out/stripped" ./cmd/tidemark
mb() { awk -v bytes="$1" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }
packages=$(go list -deps ./cmd/tidemark)
printf '%-34s %s\n' \
	'packages' "$(wc -l <<<"$packages")" \
	'  of them the standard library' "$(go list -deps -f '{{if .Standard}}{{.ImportPath}}{{end}}' ./cmd/tidemark | grep -c .)" \
	'  and of this module' "$(grep -c '^tidemark/' <<<"$packages")" \
	'go build' "$(mb "$(stat -c %s "$out/plain")")" \
	'as in the image, without symbols' "$(mb "$(stat -c %s "$out/stripped")")" \
	'the same, with gzip' "$(mb "$(gzip -c "$out/stripped" | wc -c)")"
