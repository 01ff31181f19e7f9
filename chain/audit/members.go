package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// maxMembers bounds the members of an answer, and of one pick, gap or correction in it.
const maxMembers = 64

// members calls f for each member of an object that is known to be valid JSON, with the unchanged value. Names count exactly as written,
// and none may occur twice: two readers must not see two things in one line. The general decoder takes the last of two, and ignores case.
func members(object []byte, f func(name, value []byte) error) error {
	object = bytes.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' {
		return errors.New("it is not an object")
	}
	var seen [maxMembers][]byte
	n := 0
	for rest := bytes.TrimLeft(object[1:], blanks); rest[0] != '}'; n++ {
		name, after := value(rest)
		rest = bytes.TrimLeft(after, blanks)
		v, after := value(bytes.TrimLeft(rest[1:], blanks)) // rest begins with the colon
		if rest = bytes.TrimLeft(after, blanks); rest[0] == ',' {
			rest = bytes.TrimLeft(rest[1:], blanks)
		}
		if n == maxMembers {
			return fmt.Errorf("it has more than %d members", maxMembers)
		}
		name = name[1 : len(name)-1]
		for _, before := range seen[:n] {
			if bytes.Equal(before, name) {
				return fmt.Errorf("it has the member %.80q twice", name)
			}
		}
		seen[n] = name
		if err := f(name, v); err != nil {
			return err
		}
	}
	return nil
}

// blanks are the white space characters of JSON.
const blanks = " \t\r\n"

// value splits valid JSON behind its first value.
func value(b []byte) (first, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return b[:i+1], b[i+1:]
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return b[:i], b[i:]
			}
			if depth--; depth == 0 {
				return b[:i+1], b[i+1:]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return b[:i], b[i:]
			}
		}
	}
	return b, nil
}

// text reads a string.
func text(name, value []byte) (string, error) {
	if value[0] != '"' {
		return "", fmt.Errorf("%s is %.80s, and must be a string", name, value)
	}
	if plain := value[1 : len(value)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return string(plain), nil
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

// number reads a whole number.
func number(name, value []byte) (int64, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %.80s, and must be a whole number", name, value)
	}
	return n, nil
}
