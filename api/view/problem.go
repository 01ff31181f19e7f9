package view

// Problem is the body of an answer that is an error (RFC 9457).
type Problem struct {
	// Type is the address of the page that explains the code.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Code is what a program should look at.
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	Instance  string `json:"instance"`
	RequestID string `json:"request_id"`
	// KnownSignals are the ids that would have been found, where the code is CodeUnknownSignal.
	KnownSignals []string `json:"known_signals,omitempty"`
	// Errors are the faults of the request, where the code is CodeInvalidParameter or CodeInvalidCursor.
	Errors []ParameterError `json:"errors,omitempty"`
}

// ParameterError is one fault of a request.
type ParameterError struct {
	// Pointer names the parameter, as "/limit".
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// The problem codes. Once published, a code keeps its meaning.
const (
	CodeInvalidParameter = "invalid_parameter"
	CodeInvalidCursor    = "invalid_cursor"
	CodeNotFound         = "not_found"
	CodeUnknownSignal    = "unknown_signal"
	CodeMethodNotAllowed = "method_not_allowed"
	CodeNotAcceptable    = "not_acceptable"
	CodeInternalError    = "internal_error"
	CodeUnavailable      = "dependency_unavailable"
)

// ProblemKind is what all problems with one code have in common.
type ProblemKind struct {
	Code   string
	Title  string
	Status int
	// Meaning says what happened; Remedy what the caller can do.
	Meaning, Remedy string
}

// ProblemKinds lists every problem that the program answers with, by rising status.
func ProblemKinds() []ProblemKind {
	return []ProblemKind{
		{
			Code: CodeInvalidParameter, Title: "Invalid parameter", Status: 400,
			Meaning: "A parameter of the request has a value that is not understood, or is out of its bounds.",
			Remedy:  "Mend the parameters that the member errors names, each with what is wrong with it.",
		},
		{
			Code: CodeInvalidCursor, Title: "Invalid cursor", Status: 400,
			Meaning: "The cursor was not made by an answer of this listing in this order.",
			Remedy:  "Take next_cursor of the answer before, with the same order and vintages, or leave the cursor out to begin anew.",
		},
		{
			Code: CodeNotFound, Title: "Not found", Status: 404,
			Meaning: "Nothing is served at this address, or nothing was known at the instant that was asked for.",
			Remedy:  "Check the spelling. The addresses of all signals are in the catalog. With as_of, ask for a later instant.",
		},
		{
			Code: CodeUnknownSignal, Title: "Unknown signal", Status: 404,
			Meaning: "There is no signal with this id.",
			Remedy:  "Use one of the ids in the member known_signals. Ids are lower case and never change.",
		},
		{
			Code: CodeMethodNotAllowed, Title: "Method not allowed", Status: 405,
			Meaning: "What stands at this address cannot be used with this method.",
			Remedy:  "Use one of the methods that the Allow header of the answer lists.",
		},
		{
			Code: CodeNotAcceptable, Title: "Not acceptable", Status: 406,
			Meaning: "The request's Accept header excludes every media type that is served here.",
			Remedy:  "Leave the Accept header out, or let it include the media type that the detail names.",
		},
		{
			Code: CodeInternalError, Title: "Internal error", Status: 500,
			Meaning: "Something broke on our side. It was recorded with the request id.",
			Remedy:  "Try again. If it persists, report the member request_id.",
		},
		{
			Code: CodeUnavailable, Title: "Dependency unavailable", Status: 503,
			Meaning: "Something that this answer needs cannot be reached at the moment. Nothing was changed and nothing was charged.",
			Remedy:  "Try again after the seconds that the Retry-After header names.",
		},
	}
}

// ProblemKindOf returns the kind with a code, and whether there is one.
func ProblemKindOf(code string) (ProblemKind, bool) {
	for _, k := range ProblemKinds() {
		if k.Code == code {
			return k, true
		}
	}
	return ProblemKind{}, false
}
