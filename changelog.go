// Package tidemark is the root of the module. It holds documents that the program shows: the changelog, the method of the picks, and the
// handbook of operators. The program itself is in cmd/tidemark.
package tidemark

import _ "embed" // the documents

// Changelog is CHANGELOG.md.
//
//go:embed CHANGELOG.md
var Changelog string

// Runbook is docs/operator.md.
//
//go:embed docs/operator.md
var Runbook string

// PickMethod is docs/method-picks.md.
//
//go:embed docs/method-picks.md
var PickMethod string
