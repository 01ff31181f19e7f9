package tidemark

import "embed"

// Methods holds the code of the methods that run on history, and of the packages of this module that they import. internal/codehash names
// their versions by it.
//
//go:embed picks/*.go picks/backtest/*.go signals/*.go signals/forecast/*.go
//go:embed internal/calendar/*.go internal/codehash/*.go internal/concepts/*.go internal/equity/*.go internal/series/*.go internal/sharpe/*.go
//go:embed internal/locale/*.go internal/locale/*/*.go
var Methods embed.FS

// Module is go.mod.
//
//go:embed go.mod
var Module string
