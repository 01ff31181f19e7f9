package picks

import (
	"embed"
	"sync"

	"tidemark/internal/codehash"
)

//go:embed *.go
var source embed.FS

// SourceHash names the version of the method of the picks: the score, the weights and the rules.
var SourceHash = sync.OnceValue(func() string { return codehash.Of(source) })
