package forecast

import (
	"embed"
	"sync"

	"tidemark/internal/codehash"
)

//go:embed *.go
var source embed.FS

// SourceHash names the version of the methods of all forecasts.
var SourceHash = sync.OnceValue(func() string { return codehash.Of(source) })
