package languages

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/locale"
	"tidemark/internal/locale/en"
)

// Reword translates an English text that is one of English's words below a prefix, with its places filled. write translates what fills a
// place. It reports false if no such word fits.
func Reword(lang locale.Lang, prefix, english string, write func(filled string) string) (string, bool) {
	for _, id := range slices.Sorted(maps.Keys(en.Language.Words)) {
		if !strings.HasPrefix(id, prefix+".") {
			continue
		}
		places := strings.ReplaceAll(regexp.QuoteMeta(en.Language.Words[id]), "%s", "(.+)")
		found := regexp.MustCompile("^" + places + "$").FindStringSubmatch(english)
		if found == nil {
			continue
		}
		filled := make([]any, len(found)-1)
		for i, text := range found[1:] {
			filled[i] = write(text)
		}
		return fmt.Sprintf(Or(lang).Words[id], filled...), true
	}
	return "", false
}
