// Package picks knows equities: how the figures of a company's filings are read, how companies are scored, which one is the pick of
// a day, what is written about it, and how the model portfolio of all picks fares. Everything here is a pure function of what it
// is given: no HTTP, no SQL, no clock. What it is given is what was known at the time, so any past pick can be made again.
//
// Start at Rank, which makes a pick from a Market; Book reads the facts of one company; Simulate runs the portfolio; Research
// writes the texts. The method is in docs/method-picks.md.
package picks
