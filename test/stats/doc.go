// Package stats holds the statistics of the signals to other people's arithmetic: to figures worked out by an independent script on
// recorded data, and to plain SQL on a real Postgres. It has tests only.
package stats
