// Package picks knows equities. It reads the figures of companies' filings, scores companies, chooses the pick of a day, and writes the
// texts about it. It also computes the model portfolio of all picks. Everything here is a pure function of its input: no HTTP, no SQL, no
// clock. The input is the data known at the time, so any past pick can be made again.
//
// Start at Rank, which makes a pick from a Market; NewBook reads the facts of one company; Simulate runs the portfolio; WriteResearch
// writes the texts. The method is in docs/method-picks.md.
package picks
