#!/bin/sh
# Makes vectors.txt with nothing but printf and sha256sum: seq ticker price date previous_hash hash.
prev=0000000000000000000000000000000000000000000000000000000000000000
seq=0
while read -r ticker price date; do
	seq=$((seq + 1))
	hash=$(printf '%s|%s|%s|%s' "$ticker" "$price" "$date" "$prev" | sha256sum | cut -d' ' -f1)
	echo "$seq $ticker $price $date $prev $hash"
	prev=$hash
done <<END
AAPL 243.85 2025-01-02
MSFT 423.35 2025-01-03
BRK.B 451.1000 2025-01-06
F 9.96 2025-01-07
NVDA 140.115 2025-01-08
SIRI 0.0001 2025-01-10
7203.T 2871.50 2025-01-13
BRK-A 999999999999.9999 2025-12-31
A 0.01 2028-02-29
END
