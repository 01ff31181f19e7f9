// Package stats checks the statistics of the signals against independent computations: the figures of a separate script on recorded data,
// and plain SQL on a real Postgres. It has tests only.
package stats
