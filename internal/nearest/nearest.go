// Package nearest finds the intended word for a mistyped word. Start at Of.
package nearest

import (
	"fmt"
	"strings"
)

// Of returns the word of a list that differs least from word, empty if none is close. It ignores case, and two swapped letters count as one
// difference. If no word is close, Of returns the shortest word that begins with word, or else the only word that contains it.
func Of(word string, list ...string) string {
	best, least := "", 2+len(word)/6
	for _, other := range list {
		if d := Distance(strings.ToLower(word), strings.ToLower(other)); d < least && d < len(other) {
			best, least = other, d
		}
	}
	if best == "" && len(word) >= minPart {
		best = whole(strings.ToLower(word), list)
	}
	return best
}

// minPart is the minimum length of a part of a word.
const minPart = 3

// whole returns the word with the given part.
func whole(part string, list []string) string {
	begins, contains, others := "", "", false
	for _, other := range list {
		switch at := strings.Index(strings.ToLower(other), part); {
		case at == 0 && (begins == "" || len(other) < len(begins)):
			begins = other
		case at > 0:
			others = others || contains != "" && contains != other
			contains = other
		}
	}
	if begins == "" && !others {
		return contains
	}
	return begins
}

// Suggest returns the end of a message about a word that is not in a list: the closest word of the list, or nothing.
func Suggest(word string, list ...string) string {
	if near := Of(word, list...); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// SuggestOr returns Suggest's text, or the whole list if no word of it is close.
func SuggestOr(word string, list ...string) string {
	if near := Suggest(word, list...); near != "" || len(list) == 0 {
		return near
	}
	return "; there are " + strings.Join(list, ", ")
}

// Distance returns how many letters must be added, removed, replaced or swapped with their neighbour to change a to b.
func Distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			differs := 1
			if a[i-1] == b[j-1] {
				differs = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+differs)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
