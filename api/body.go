package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/api/view"
	"tidemark/internal/nearest"
)

// maxBody is the maximum size of a request body, in bytes.
const maxBody = 64 << 10

// readExactly is readObject for a request in which a mistyped member would do something else: it refuses members that the struct does not name.
func readExactly(w http.ResponseWriter, r *http.Request, into any, optional bool) ([]byte, error) {
	body, err := readObject(w, r, into, optional)
	if err != nil {
		return nil, err
	}
	return body, unknownMember(body, into)
}

// readObject decodes the request body, a JSON object, into a struct, and returns its bytes. It ignores unknown members. If optional is set,
// a request without a body counts as an empty object.
func readObject(w http.ResponseWriter, r *http.Request, into any, optional bool) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, &problemError{code: view.CodeBodyTooLarge, detail: fmt.Sprintf("The body has more than %d bytes.", maxBody)}
	}
	if err != nil {
		return nil, &problemError{code: view.CodeInvalidRequest, detail: "The body did not arrive whole."}
	}
	if len(body) == 0 && optional {
		return body, nil
	}
	if given := r.Header.Get("Content-Type"); given != "" {
		mediaType, params, err := mime.ParseMediaType(given)
		charset := strings.ToLower(params["charset"])
		if err != nil || mediaType != "application/json" || charset != "" && charset != "utf-8" {
			return nil, &problemError{code: view.CodeUnsupportedType, detail: "The body must be JSON: Content-Type: application/json."}
		}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, &problemError{code: view.CodeUnsupportedType, detail: "The body must not be compressed."}
	}
	if err := parseObject(body, into); err != nil {
		return nil, err
	}
	return body, nil
}

func parseObject(body []byte, into any) error {
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return &problemError{code: view.CodeInvalidRequest, detail: "The body is not a JSON object."}
	}
	err := json.Unmarshal(body, into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return invalidMember(strings.ReplaceAll(wrong.Field, ".", "/"), otherType(wrong))
	}
	if err != nil {
		return &problemError{code: view.CodeInvalidRequest, detail: "The body is not well-formed JSON."}
	}
	return ambiguous(body)
}

// ambiguous returns the problem of a body that parsers read differently, because it repeats a member or is not UTF-8.
func ambiguous(body []byte) error {
	_, err := jsontext.NewDecoder(bytes.NewReader(body)).ReadValue()
	if at := (*jsontext.SyntacticError)(nil); errors.As(err, &at) && errors.Is(err, jsontext.ErrDuplicateName) {
		pointer := strings.TrimPrefix(string(at.JSONPointer), "/")
		return invalidMember(strings.ToValidUTF8(pointer[:min(len(pointer), maxName)], ""), "The body has this member more than once.")
	}
	if err != nil {
		return &problemError{code: view.CodeInvalidRequest, detail: "The body is not valid UTF-8."}
	}
	return nil
}

// otherType says that a member has another JSON type than it must have.
func otherType(wrong *json.UnmarshalTypeError) string {
	given := "a " + wrong.Value
	switch number, isNumber := strings.CutPrefix(wrong.Value, "number "); {
	case isNumber:
		given = "the number " + number
	case wrong.Value == "array" || wrong.Value == "object":
		given = "an " + wrong.Value
	case wrong.Value == "bool":
		given = "true or false"
	}
	expected := "an object"
	switch wrong.Type.Kind() { //nolint:exhaustive // the bodies have members of no other types
	case reflect.String:
		expected = "a string"
	case reflect.Bool:
		expected = "true or false"
	case reflect.Slice, reflect.Array:
		expected = "an array"
	case reflect.Int, reflect.Int64:
		expected = "a whole number"
	case reflect.Float64:
		expected = "a number of at most 1.79e308"
	}
	return "This is " + given + " where " + expected + " is expected."
}

// unknownMember returns the problem of a member that the structure into does not name.
func unknownMember(body []byte, into any) error {
	pointer, names := strayMember(body, reflect.TypeOf(into), "")
	if pointer == "" {
		return nil
	}
	name := pointer[strings.LastIndex(pointer, "/")+1:]
	if near := nearest.Of(name, names...); near != "" {
		return invalidMember(pointer, "There is no such member. Did you mean "+near+"?")
	}
	if len(names) == 0 {
		return invalidMember(pointer, "There is no such member. The body has none.")
	}
	return invalidMember(pointer, "There is no such member. There are "+strings.Join(names, ", ")+".")
}

// strayMember returns the path of the first member that a type does not name, and the names that can stand in its place.
func strayMember(body []byte, of reflect.Type, path string) (pointer string, names []string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	members := map[string]json.RawMessage{}
	if of.Kind() != reflect.Struct || json.Unmarshal(body, &members) != nil {
		return "", nil
	}
	types := map[string]reflect.Type{}
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		types[name] = field.Type
		names = append(names, name)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		inner, ok := types[name]
		if !ok {
			escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(strings.ToValidUTF8(name[:min(len(name), maxName)], ""))
			return path + escaped, names
		}
		if pointer, inside := strayMember(members[name], inner, path+name+"/"); pointer != "" {
			return pointer, inside
		}
	}
	return "", nil
}

// invalidMember returns the problem of an invalid member of the body.
func invalidMember(name, detail string) error {
	return &problemError{code: view.CodeInvalidParameter, detail: detail, errors: []view.ParameterError{{Pointer: "/" + name, Detail: detail}}}
}
