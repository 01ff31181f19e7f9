package edgar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/equity"
)

// stream reads a body of JSON member by member, so that only the wanted parts of some megabytes are built.
type stream struct{ *json.Decoder }

// document reads a whole body as one object.
func document(body []byte, member func(s stream, name string) error) error {
	s := stream{json.NewDecoder(bytes.NewReader(body))}
	if err := s.object(func(name string) error { return member(s, name) }); err != nil {
		return err
	}
	if _, err := s.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text follows the end of the JSON object")
	}
	return nil
}

// object reads an object. For each of its members it calls member, which reads the value whole.
func (s stream) object(member func(name string) error) error {
	if err := s.delim('{'); err != nil {
		return err
	}
	for s.More() {
		token, err := s.Token()
		if err != nil {
			return fmt.Errorf("want a JSON object: %w", err)
		}
		name, _ := token.(string) // the decoder takes nothing else for a name
		if err := member(name); err != nil {
			return err
		}
	}
	return s.delim('}')
}

func (s stream) delim(want json.Delim) error {
	token, err := s.Token()
	if err != nil {
		return fmt.Errorf("want %q of JSON: %w", want, err)
	}
	if token != want {
		return fmt.Errorf("want %q of JSON, found %.40v", want, token)
	}
	return nil
}

// value reads a value into v.
func (s stream) value(what string, v any) error {
	if err := s.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// skip reads over a value.
func (s stream) skip() error {
	var none unread
	return s.Decode(&none)
}

// unread takes any value and keeps nothing.
type unread struct{}

// UnmarshalJSON takes the value.
func (*unread) UnmarshalJSON([]byte) error { return nil }

// cik is a company's number, which is written as a number in some files, as a string in others, and there with zeros before it or
// without.
type cik equity.CIK

// UnmarshalJSON reads either form.
func (c *cik) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || len(strings.TrimLeft(text, "0")) > 10 {
		return fmt.Errorf("%.40s is not a CIK", raw)
	}
	*c = cik(n)
	return nil
}

// date reads a date. An empty text is the zero time.
func date(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.DateOnly, text)
}

// whole reads a body into v; v must be the whole body.
func whole(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("want a JSON object: %w", err)
	}
	return nil
}
