package generate

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"tidemark/api/view"
	"tidemark/internal/pushes"
)

// messageFields are the header fields of a message to a webhook.
var messageFields = []struct {
	name, description string
	example           any
}{
	{pushes.HeaderID, "The id of the message: the same for each attempt and each replay. A receiver knows a duplicate by it.", "msg_7mzq0gk5v9w2x4t1c8n6b3h0jd_813"},
	{pushes.HeaderTimestamp, "When this attempt was signed, in seconds since 1970.", "1795514400"},
	{
		pushes.HeaderSignature, "Signatures of Standard Webhooks, version 1, separated by spaces: `v1,` and the HMAC-SHA256 over id, time and body with dots between, in base64. " +
			"While a secret is replaced there are two.", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
	},
	{pushes.HeaderAttempt, "Which attempt this is. The first is 1.", "1"},
}

// messages says of each type of a message what it is about, with an example of its change.
var messages = map[string]struct {
	summary string
	change  *pushes.Change
}{
	"signal": {"A signal has a new print, a revision, or another status", changeOf("signal:crack-spread-321", "new_print", "crack-spread-321",
		"/api/signals/crack-spread-321", pushes.SignalChange{
			AsOf: messageAt, Status: "live", ObservedAt: new(messageAt), Value: new(16.206), Lo: new(15.1), Hi: new(17.3), Baseline: new(14.9), ZScore: new(0.6),
			PreviousValue: new(15.8), PreviousStatus: new("live"),
		})},
	pushes.TopicPick: {"A pick is announced", changeOf(pushes.TopicPick, "announced", "NVDA", "/api/v1/verify/pick/NVDA", pushes.PickChange{
		Seq: 84, Ticker: "NVDA", Name: "NVIDIA CORP", Date: "2026-11-20", Price: "178.88", Currency: "USD", AnnouncedAt: messageAt, Hash: strings.Repeat("0f", 32),
	})},
	pushes.TopicEvent: {"Something happened to a company of the portfolio", changeOf(pushes.TopicEvent, "happened", "NVDA", "/api/v1/events?ticker=NVDA", pushes.EventChange{
		ID: "ev_7mzq2gk5v7w2x4t3c6n6b3h5jd", Type: "price_move", Severity: 3, Ticker: "NVDA", OccurredAt: messageAt, ChangePct: new(-6.1),
	})},
	pushes.TopicForecast: {"A forecast is issued or graded", changeOf(pushes.TopicForecast, "issued", "eia-weekly-petroleum", "/api/signals/eia-weekly-petroleum/forecasts",
		pushes.IssuedForecast{
			ID: "eia-weekly-petroleum/crude/2026-11-20", Signal: "eia-weekly-petroleum", Figure: "crude", Period: "2026-11-20", ReleaseAt: messageAt, IssuedAt: messageAt,
			Label: "provisional", Hash: strings.Repeat("0f", 32),
		})},
	pushes.TypeTest: {summary: "The owner of the alert asks for a test message"},
}

var messageAt = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

func changeOf(topic, kind, subject, path string, data any) *pushes.Change {
	return &pushes.Change{
		Cursor: "813", Topic: topic, Kind: kind, Subject: subject, At: messageAt, URL: "https://tidemark.example" + path, Data: data, Environment: "live",
	}
}

// webhooks returns the requests that alerts send, by type of message.
func (b *builder) webhooks() (ordered[ordered[*operation]], error) {
	var out ordered[ordered[*operation]]
	base := reflect.TypeFor[pushes.Notice]()
	if err := b.schemas.define(base); err != nil {
		return nil, err
	}
	types := append(slices.Sorted(maps.Keys(pushes.Data)), pushes.TypeTest)
	for _, kind := range types {
		m, ok := messages[kind]
		if !ok {
			return nil, fmt.Errorf("the message %s is not described", kind)
		}
		op := &operation{
			OperationID: "receive" + camel(kind), Summary: m.summary, Tags: []string{"Alerts"}, Security: []ordered[[]string]{},
			Description: "An alert posts this to its webhook, signed as Standard Webhooks describes. Compare `webhook-signature` before you read the body, refuse an old " +
				"`webhook-timestamp`, and keep `webhook-id` to know duplicates. Messages of one alert come in the order of their cursors.",
		}
		for _, f := range messageFields { // in place, because a generator of clients leaves out components that no path refers to
			op.Parameters = append(op.Parameters, parameter{
				Name: strings.ToLower(f.name), In: "header", Required: true, Description: f.description, Schema: plainText(), Example: f.example,
			})
		}
		schema, err := b.message(kind)
		if err != nil {
			return nil, err
		}
		op.RequestBody = &requestBody{Description: "The message.", Required: true}
		op.RequestBody.Content.put(view.TypeJSON, mediaType{
			Schema: schema, Example: pushes.Notice{Type: kind, Timestamp: messageAt, Alert: "alert_7mzq0gk5v9w2x4t1c8n6b3h0jd", Data: m.change},
		})
		op.Responses.put("2XX", responseOrRef{Description: "The receiver has the message."})
		op.Responses.put("410", responseOrRef{Description: "The receiver wants no more messages: the alert is disabled at once."})
		op.Responses.put("default", responseOrRef{Description: "The message is sent again with growing pauses for three days. Redirects are not followed."})
		out.put(kind, ordered[*operation]{{strings.ToLower(http.MethodPost), op}})
	}
	b.schemas.named = slices.DeleteFunc(b.schemas.named, func(m member[*jsonschema.Schema]) bool { // no message is one of these alone
		return m.name == b.schemas.nameOf(base) || m.name == b.schemas.nameOf(reflect.TypeFor[pushes.Change]())
	})
	return out, nil
}

// message returns the schema of a message of a type: a pushes.Notice with the data of that type. Each has all its members, because clients are
// generated from it.
func (b *builder) message(kind string) (*jsonschema.Schema, error) {
	var of []*jsonschema.Schema
	for _, data := range pushes.Data[kind] {
		one, err := b.schemas.of(reflect.TypeOf(data))
		if err != nil {
			return nil, err
		}
		of = append(of, one)
	}
	data := &jsonschema.Schema{Type: "null"} // a test
	switch len(of) {
	case 0:
	case 1:
		data = b.narrowed(reflect.TypeFor[pushes.Change](), camel(kind)+"Push", map[string]*jsonschema.Schema{"data": of[0]})
	default:
		data = b.narrowed(reflect.TypeFor[pushes.Change](), camel(kind)+"Push", map[string]*jsonschema.Schema{"data": {AnyOf: of}})
	}
	return b.narrowed(reflect.TypeFor[pushes.Notice](), camel(kind)+"Message", map[string]*jsonschema.Schema{
		"type": {Type: "string", Enum: []any{kind}}, "data": data,
	}), nil
}

// narrowed names a schema that is one of a described type with other members, and returns a reference to it.
func (b *builder) narrowed(of reflect.Type, name string, members map[string]*jsonschema.Schema) *jsonschema.Schema {
	i := slices.IndexFunc(b.schemas.named, func(m member[*jsonschema.Schema]) bool { return m.name == b.schemas.nameOf(of) })
	schema := *b.schemas.named[i].value
	schema.Description = strings.Replace(schema.Description, b.schemas.nameOf(of), name, 1)
	schema.Properties = maps.Clone(schema.Properties)
	maps.Copy(schema.Properties, members)
	b.schemas.named.put(name, &schema)
	return &jsonschema.Schema{Ref: refTo + name}
}
