package gitledger

import (
	_ "embed"
	"strings"
)

// readmeText is the page inside a ledger. It is part of every ledger's first commit: changing it changes the id of every commit of
// ledgers that begin afterwards, so two writers of one ledger need the same.
//
//go:embed readme.md
var readmeText string

var environmentText = map[string]string{
	"live": "This is the live record (environment: live).",
	"demo": "This is a demonstration (environment: demo): its picks were made on simulated or recorded data, under a clock that is not the\nwall clock. It proves nothing about anyone's skill.",
}

func readme(environment string) []byte {
	return []byte(strings.ReplaceAll(readmeText, "{{environment}}", environmentText[environment]))
}
