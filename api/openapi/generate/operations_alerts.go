package generate

import (
	"net/http"

	"tidemark/api/view"
	"tidemark/internal/pushes"
)

// AlertRequest is the body that makes an alert.
type AlertRequest struct {
	// Rule selects the changes that are sent.
	Rule pushes.Rule `json:"rule"`
	// URL is where they are posted: https, port 443 or 1024 and above, an address of the public internet.
	URL string `json:"url"`
}

// AlertReplayRequest is the body of a replay.
type AlertReplayRequest struct {
	// After is the cursor of the last message that the receiver has; "0" for all.
	After string `json:"after"`
}

// alertEndpoints returns the operations for rules of a key.
func alertEndpoints() []route {
	mine := func(codes ...string) []string { return append(append(codes, withKey...), always...) }
	changing := func(codes ...string) []string {
		return mine(append(codes, view.CodeInvalidRequest, view.CodeInvalidParameter, view.CodeBodyTooLarge, view.CodeUnsupportedType)...)
	}
	once := []string{"Cache-Control", "X-Request-Id"}
	return []route{
		{
			id: "createAlert", method: http.MethodPost, path: "/api/v1/alerts", tag: "Alerts", access: keyed,
			summary: "Post changes to a webhook",
			description: "Creates an alert rule for the key. What it selects from the stream of changes is posted to `url`, signed as Standard Webhooks describes (`webhook-id`, `webhook-timestamp`, " +
				"`webhook-signature`), in the order of the cursors. A message without a 2xx response is sent again with increasing delays for three days, always with the same `webhook-id`. " +
				"A rule about a number fires once when the number passes `above` or `below`, and again after the number has returned to `rearm`. A rule that is created while the number is already beyond waits, " +
				"too (`armed` is false). A key can have at most 20 alerts. Free of charge. If events of the portfolio are sold (`PAGES=free`), only a key with Pro can select them by " +
				"`min_severity` or `ticker`. A member that a rule does not have is refused. For a day, a repetition with the same Idempotency-Key creates no second alert: it returns the " +
				"first response again, with the secret.",
			takes: []string{"idempotency_key"},
			request: &content{body: body[AlertRequest](""), description: "The rule and the address.", example: AlertRequest{
				Rule: pushes.Rule{On: pushes.OnZScore, Signal: "crack-spread-321", Above: new(2.0), Rearm: new(1.5)}, URL: "https://hooks.example.com/tidemark",
			}},
			answers: []answer{{
				status: http.StatusCreated, description: "The alert, with the secret of its signatures.", body: []shape{body[view.AlertBody]("")},
				headers: []string{"Cache-Control", "Location", "X-Request-Id"},
			}},
			codes: changing(view.CodeIdempotencyReused),
		},
		{
			id: "listAlerts", method: http.MethodGet, path: "/api/v1/alerts", tag: "Alerts", access: keyed,
			summary:     "List the alerts of the key",
			description: "All of them, oldest first. Secrets are not shown.",
			answers:     []answer{ok("The alerts.", limited, body[view.Alerts]("")), unchanged},
			codes:       append(append([]string{view.CodeInvalidParameter}, withKey...), reads...),
		},
		{
			id: "getAlert", method: http.MethodGet, path: "/api/v1/alerts/{id}", tag: "Alerts", access: keyed,
			summary:     "See what an alert has sent",
			description: "The alert with its newest 50 messages, and how the webhook responded.",
			takes:       []string{"alert_id"},
			answers:     []answer{ok("The alert.", limited, body[view.AlertDetail]("")), unchanged},
			codes:       append(append([]string{view.CodeInvalidParameter, view.CodeNotFound}, withKey...), reads...),
		},
		{
			id: "deleteAlert", method: http.MethodDelete, path: "/api/v1/alerts/{id}", tag: "Alerts", access: keyed,
			summary:     "Delete an alert",
			description: "The alert ends at once. Pending messages are not sent.",
			takes:       []string{"alert_id"},
			answers:     []answer{{status: http.StatusNoContent, description: "It is deleted.", headers: once}},
			codes:       mine(view.CodeNotFound),
		},
		{
			id: "testAlert", method: http.MethodPost, path: "/api/v1/alerts/{id}/test", tag: "Alerts", access: keyed,
			summary:     "Send a test message",
			description: "Posts a message of the type `test` at once, also while the webhook fails. It is tried once; the list of messages says how it ended. At most once every ten seconds.",
			takes:       []string{"alert_id"},
			answers:     []answer{{status: http.StatusAccepted, description: "It is on its way.", body: []shape{body[view.AlertSent]("")}, headers: once}},
			codes:       changing(view.CodeNotFound),
		},
		{
			id: "rotateAlertSecret", method: http.MethodPost, path: "/api/v1/alerts/{id}/secret", tag: "Alerts", access: keyed,
			summary: "Give an alert another secret",
			description: "For a day messages carry two signatures, of the new secret and of the old one. So a receiver can change without a gap. While the old one signs, another rotation is refused. " +
				"For a day, a repetition with the same Idempotency-Key returns the first response again, with the secret.",
			takes:   []string{"alert_id", "idempotency_key"},
			answers: []answer{ok("The new secret.", once, body[view.AlertSecret](""))},
			codes:   changing(view.CodeNotFound, view.CodeIdempotencyReused),
		},
		{
			id: "replayAlert", method: http.MethodPost, path: "/api/v1/alerts/{id}/replay", tag: "Alerts", access: keyed,
			summary: "Send messages again",
			description: "Sends what the alert selected after a cursor, each message with the same `webhook-id` as before, and enables the alert if it was disabled. What it selected while it was " +
				"disabled comes, too. What came up to the cursor is not sent any more. Messages are kept for 14 days. At most the oldest 10,000: ask again after the last of them. At most once every ten seconds.",
			takes:   []string{"alert_id"},
			request: &content{body: body[AlertReplayRequest](""), description: "Where to begin.", example: AlertReplayRequest{After: "812"}},
			answers: []answer{{status: http.StatusAccepted, description: "They are on their way.", body: []shape{body[view.AlertSent]("")}, headers: once}},
			codes:   changing(view.CodeNotFound),
		},
	}
}
