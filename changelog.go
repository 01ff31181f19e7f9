// Package tidemark is the root of the module and holds what lies there: the changelog, for the program to show. The program itself is in
// cmd/tidemark.
package tidemark

import _ "embed" // the changelog

// Changelog is CHANGELOG.md.
//
//go:embed CHANGELOG.md
var Changelog string
