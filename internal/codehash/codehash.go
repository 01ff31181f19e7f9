// Package codehash names versions of methods by the code that makes them.
package codehash

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"strings"
)

// Of returns the SHA-256 of embedded Go files of one folder without their lines of comments and without tests, in lower-case hex. Any change
// of a rule, a weight or a constant is another hash, and so is a change of code that changes no number.
func Of(files embed.FS) string {
	list, err := files.ReadDir(".")
	if err != nil {
		panic(err) // it is part of the program
	}
	sum := sha256.New()
	for _, f := range list {
		if strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := files.ReadFile(f.Name())
		if err != nil {
			panic(err)
		}
		_, _ = sum.Write([]byte(f.Name() + "\n"))
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				_, _ = sum.Write([]byte(line + "\n"))
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
