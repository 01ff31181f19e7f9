// Package migrations holds all DDL, as goose reads it: numbered files, each up and down. Nothing but the embedded files is here;
// internal/postgres applies them.
package migrations

import "embed"

// FS holds the numbered .sql files.
//
//go:embed *.sql
var FS embed.FS
