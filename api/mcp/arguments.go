package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// argument declares one argument of a tool. Its schema and its validation are derived from it.
type argument struct {
	name, description string
	// example is a JSON value for the schema and for error messages.
	example  string
	required bool
	// whole marks an integer from least to most. Other arguments are texts.
	whole    bool
	min, max int64
	// fallback is the default as JSON. Empty means no default.
	fallback string
	// enum or pattern restricts a text. maxLength bounds its characters.
	enum      []string
	pattern   *regexp.Regexp
	maxLength int
}

// schemaOf describes the arguments of a tool as JSON Schema.
func schemaOf(list []argument) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, a := range list {
		p := &jsonschema.Schema{Type: "string", Description: a.description, Examples: []any{json.RawMessage(a.example)}}
		if a.whole {
			p.Type, p.Minimum, p.Maximum = "integer", new(float64(a.min)), new(float64(a.max))
		}
		if a.pattern != nil {
			p.Pattern = a.pattern.String()
		}
		if a.maxLength > 0 {
			p.MaxLength = &a.maxLength
		}
		for _, v := range a.enum {
			p.Enum = append(p.Enum, v)
		}
		if a.fallback != "" {
			p.Default = json.RawMessage(a.fallback)
		}
		s.Properties[a.name] = p
		s.PropertyOrder = append(s.PropertyOrder, a.name)
		if a.required {
			s.Required = append(s.Required, a.name)
		}
	}
	return s
}

// values are validated arguments.
type values struct {
	texts   map[string]string
	numbers map[string]int64
}

// userError is an error that tells an agent what to do.
type userError string

func (a userError) Error() string { return string(a) }

func userErrorf(format string, args ...any) error { return userError(fmt.Sprintf(format, args...)) }

// read validates the arguments of a call. The error describes all faults at once.
func read(list []argument, raw json.RawMessage) (values, error) {
	v := values{texts: map[string]string{}, numbers: map[string]int64{}}
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return v, userErrorf("The arguments are not a JSON object. %s", usage(list))
		}
	}
	var faults []string
	for _, a := range list {
		value := given[a.name]
		delete(given, a.name)
		if len(value) == 0 || string(value) == "null" {
			value = json.RawMessage(a.fallback)
		}
		if len(value) == 0 {
			if a.required {
				faults = append(faults, fmt.Sprintf("%s is missing: %s For example %s.", a.name, a.description, a.example))
			}
			continue
		}
		if fault := v.take(a, value); fault != "" {
			faults = append(faults, fault)
		}
	}
	for name := range given {
		faults = append(faults, quoted(name)+" is no argument of this tool.")
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		if len(faults) > maxFaults {
			faults = append(faults[:maxFaults], "There are more.")
		}
		return v, userErrorf("%s %s", strings.Join(faults, " "), usage(list))
	}
	return v, nil
}

// maxFaults is the maximum number of faults in an error.
const maxFaults = 5

// take validates and stores one value. It returns what is wrong with it, or an empty string.
func (v values) take(a argument, raw json.RawMessage) (fault string) {
	if a.whole {
		// 5.0 is an integer in JSON, too
		f, err := strconv.ParseFloat(string(raw), 64)
		n := int64(f)
		if err != nil || float64(n) != f || n < a.min || n > a.max {
			return fmt.Sprintf("%s is not a whole number from %d to %d, such as %s.", a.name, a.min, a.max, a.example)
		}
		v.numbers[a.name] = n
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return fmt.Sprintf("%s is not a text such as %s.", a.name, a.example)
	}
	switch {
	case a.enum != nil && !slices.Contains(a.enum, text):
		return fmt.Sprintf("%s can be %s, and not %s.", a.name, strings.Join(a.enum, ", "), quoted(text))
	case a.maxLength > 0 && len([]rune(text)) > a.maxLength:
		return fmt.Sprintf("%s is longer than %d characters.", a.name, a.maxLength)
	case a.pattern != nil && !a.pattern.MatchString(text):
		return fmt.Sprintf("%s cannot be %s. %s For example %s.", a.name, quoted(text), a.description, a.example)
	}
	v.texts[a.name] = text
	return ""
}

// usage describes the existing arguments.
func usage(list []argument) string {
	if len(list) == 0 {
		return "This tool takes no arguments: send {}."
	}
	var names []string
	for _, a := range list {
		if a.required {
			names = append(names, a.name+" (required)")
			continue
		}
		names = append(names, a.name)
	}
	return "The arguments are: " + strings.Join(names, ", ") + "."
}

// quoted quotes a text of the caller in an error: on one line and truncated.
func quoted(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strconv.Quote(text)
}
