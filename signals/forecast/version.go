package forecast

import "tidemark/internal/codehash"

// SourceHash names the version of the methods of all forecasts, with all code that they are made of.
func SourceHash() string { return codehash.Of("signals/forecast") }
