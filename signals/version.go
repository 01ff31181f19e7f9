package signals

import "tidemark/internal/codehash"

// SourceHash names the version of the methods of all signals and of their backtests, with all code that they are made of.
func SourceHash() string { return codehash.Of("signals") }
