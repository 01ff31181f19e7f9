package picks

import "tidemark/internal/codehash"

// SourceHash names the version of the method of the picks: the score, the weights and the rules, with all code that they are made of.
func SourceHash() string { return codehash.Of("picks") }
