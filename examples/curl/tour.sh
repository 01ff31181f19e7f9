#!/bin/sh
# A tour of the service with curl: signals, the hash chain, a free key, picks.
set -eu
base=${TIDEMARK_URL:-http://127.0.0.1:8080}

echo '# The live signals'
curl -fsS "$base/api/signals" | tr ',' '\n' | sed -n 's/.*"id":"\([a-z0-9-]*\)".*/\1/p'

echo '# Two rows of a history, as CSV'
curl -fsS "$base/api/signals/crack-spread-321/history?order=desc&limit=2&format=csv"

echo '# As it was known at the end of a day: a value that was revised later is the one of then'
curl -fsS "$base/api/signals/crack-spread-321/history?as_of=$(date -u +%F -d yesterday 2>/dev/null || date -u -v-1d +%F)&order=desc&limit=1&format=csv" | tail -n 1

echo '# The hash chain: one pick a line, and its hash recomputed with the tools of the shell'
curl -fsS "$base/api/v1/verify/picks?format=ndjson&limit=3" | while IFS= read -r pick; do
	preimage=$(printf '%s' "$pick" | sed 's/.*"preimage":"\([^"]*\)".*/\1/')
	hash=$(printf '%s' "$pick" | sed 's/.*"hash":"\([0-9a-f]*\)","preimage".*/\1/')
	ours=$(printf '%s' "$preimage" | (sha256sum 2>/dev/null || shasum -a 256) | cut -d ' ' -f 1)
	[ "$ours" = "$hash" ] || { echo "the hash of $preimage is $ours, not $hash"; exit 1; }
	echo "$preimage -> $hash"
done

echo '# A free key, and what an answer costs'
key=$(curl -fsS "$base/api/v1/auth/register" -H 'Content-Type: application/json' -d '{"name":"curl tour"}' | sed 's/.*"api_key":"\([^"]*\)".*/\1/')
curl -fsS -D - "$base/api/v1/picks/latest" -H "Authorization: Bearer $key" -o /dev/null | grep -i '^x-'
curl -fsS "$base/api/v1/picks?limit=3&format=csv" -H "Authorization: Bearer $key" | cut -d , -f 2,3

echo '# The same without a key asks for a payment'
curl -sS -o /dev/null -w '%{http_code}\n' "$base/api/v1/x402/picks/latest"

echo '# The key ends'
curl -fsS -X DELETE "$base/api/v1/keys/current" -H "Authorization: Bearer $key" -w '%{http_code}\n'
