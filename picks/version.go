package picks

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"strings"
	"sync"
)

//go:embed *.go
var source embed.FS

// SourceHash is the SHA-256 of the code of this package without its lines of comments and its tests, in lower-case hex. It names the version
// of the method of the picks: any change of a rule, a weight or a constant is another version, and so is a change of code that changes no
// number.
var SourceHash = sync.OnceValue(func() string {
	files, err := source.ReadDir(".")
	if err != nil {
		panic(err) // it is part of the program
	}
	sum := sha256.New()
	for _, f := range files {
		if strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := source.ReadFile(f.Name())
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
})
