package signals

import (
	"embed"
	"sync"

	"tidemark/internal/codehash"
)

//go:embed *.go
var source embed.FS

// SourceHash names the version of the methods of all signals and of their backtests.
var SourceHash = sync.OnceValue(func() string { return codehash.Of(source) })
