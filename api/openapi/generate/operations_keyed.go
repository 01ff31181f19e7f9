package generate

import (
	"net/http"
	"strings"

	"tidemark/api/endpoint"
	"tidemark/api/view"
)

// dataEndpoints returns the operations of the data endpoints.
func dataEndpoints() []route {
	var all []route
	for _, e := range endpoint.All() {
		o := route{
			id: e.ID, method: http.MethodGet, path: "/api/v1" + e.Path, tag: "Picks", access: keyed, price: e.Path,
			summary: e.Summary, description: e.Description, takes: append(e.Params.Names(), "idempotency_key"),
		}
		bodies := []shape{{e.Body.Schema, e.Body.Type}}
		if e.FreeBody != nil {
			bodies = append(bodies, shape{e.FreeBody.Schema, e.FreeBody.Type})
		}
		if e.List != nil {
			rows, _ := e.Body.Type.FieldByName("Data")
			if left := view.LeftOut(rows.Type.Elem()); len(left) > 0 {
				o.description += " CSV, Parquet and Arrow leave out `" + strings.Join(left, "`, `") + "`, which are no single values."
			}
			o.answers, o.codes = table(e.Result, bodies...), []string{view.CodeInvalidParameter, view.CodeInvalidCursor}
		} else {
			o.answers, o.codes = single(e.Result, bodies...), []string{view.CodeInvalidParameter, e.AbsentCode}
		}
		if e.Params.Has(endpoint.Lang) {
			o.codes = append(o.codes, view.CodeInvalidLang)
		}
		o.codes = append(append(o.codes, withData...), reads...)
		all = append(all, o)
	}
	return all
}

func table(description string, of ...shape) []answer {
	return []answer{{status: http.StatusOK, description: description, body: of, table: true, headers: append([]string{"Link"}, charged...)}, unchanged}
}

func single(description string, of ...shape) []answer {
	return []answer{ok(description, charged, of...), unchanged}
}

// RegistrationRequest is the body of a registration.
type RegistrationRequest struct {
	// Name is the key's name: 1 to 100 characters without control characters.
	Name string `json:"name"`
}

// RotationRequest is the body of a rotation.
type RotationRequest struct {
	// GraceSeconds is how long the old text stays valid. The default is 0.
	GraceSeconds int64 `json:"grace_seconds,omitempty"`
}

func accountEndpoints() []route {
	return []route{
		{
			id: "registerKey", method: http.MethodPost, path: "/api/v1/auth/register", tag: "Account",
			summary:     "Register a free API key",
			description: "Creates a key and shows it once. In the balance model it starts with a trial balance of 0.20 USD. For a day, a repetition with the same Idempotency-Key creates no second key: it is answered with 409, and never with the text of the key.",
			takes:       []string{"idempotency_key"},
			request:     &content{body: body[RegistrationRequest](""), description: "The name of the key.", example: RegistrationRequest{Name: "my-agent"}},
			answers:     []answer{{status: http.StatusCreated, description: "The key.", body: []shape{body[view.Registered]("")}, headers: []string{"Cache-Control", "RateLimit-Policy", "RateLimit", "X-Request-Id"}}},
			codes:       append([]string{view.CodeAlreadyRegistered, view.CodeOriginNotAllowed}, changes...),
		},
		{
			id: "getAccount", method: http.MethodGet, path: "/api/v1/account", tag: "Account", access: keyed,
			summary:     "See how the key stands",
			description: "Its balance or plan, and what it used today and this month (UTC). Free of charge.",
			answers:     []answer{ok("The account.", limited, body[view.Account]("")), unchanged},
			codes:       append(withKey, reads...),
		},
		{
			id: "getUsage", method: http.MethodGet, path: "/api/v1/account/usage", tag: "Account", access: keyed,
			summary:     "See what the key used",
			description: "Requests and costs by UTC day and endpoint, of the last 30 days unless a range is asked for. Free of charge.",
			takes:       []string{"from_instant", "to_instant"},
			answers:     []answer{ok("The usage.", limited, body[view.AccountUsageRows]("")), unchanged},
			codes:       append(append([]string{view.CodeInvalidParameter}, withKey...), reads...),
		},
		{
			id: "rotateKey", method: http.MethodPost, path: "/api/v1/keys/rotate", tag: "Account", access: keyed,
			summary:     "Give the key another text",
			description: "The key stays the same with its balance and history; its text is replaced and shown once. The old text ends at once, or after `grace_seconds`; until then it only reads. A body with another member is refused, and nothing is changed. A lost answer can be fetched again with the same Idempotency-Key until the old text ends; it must be a random text of at least 22 characters.",
			takes:       []string{"idempotency_key"},
			request:     &content{body: body[RotationRequest](""), description: "How long the old text stays valid. May be left out.", example: RotationRequest{GraceSeconds: 60}, optional: true},
			answers:     []answer{ok("The new text.", []string{"Cache-Control", "X-Request-Id"}, body[view.Rotated](""))},
			codes:       append(append([]string{view.CodeOriginNotAllowed}, withKey...), changes...),
		},
		{
			id: "revokeKey", method: http.MethodDelete, path: "/api/v1/keys/current", tag: "Account", access: keyed,
			summary:     "End the key",
			description: "The key ends, at once and for good. Its balance can be moved to another key by the operator.",
			answers:     []answer{{status: http.StatusNoContent, description: "It has ended.", headers: []string{"X-Request-Id"}}},
			codes:       append(append([]string{view.CodeOriginNotAllowed}, withKey...), always...),
		},
	}
}
