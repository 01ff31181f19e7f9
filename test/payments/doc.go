// Package payments shows that payments by request lose no money on either side. It kills real processes between any two steps, on a real
// Postgres and a development chain. `make e2e-payments` adds the clients and the facilitator library that the x402 project publishes, on
// go-ethereum's own node.
package payments
