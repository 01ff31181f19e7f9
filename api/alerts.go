package api

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
	"tidemark/signals"
)

const (
	alertsPath = "/api/v1/alerts"
	// shownDeliveries is how many messages of a rule are listed.
	shownDeliveries = 50
)

// alerts registers the endpoints for rules of a key.
func (s *Server) alerts(mux *http.ServeMux) {
	s.handleMethods(mux, alertsPath, methods{http.MethodGet: s.listAlerts, http.MethodPost: s.createAlert})
	s.handleMethods(mux, alertsPath+"/{id}", methods{http.MethodGet: s.alert, http.MethodDelete: s.deleteAlert})
	s.handle(mux, http.MethodPost, alertsPath+"/{id}/test", s.testAlert)
	s.handle(mux, http.MethodPost, alertsPath+"/{id}/secret", s.rotateAlertSecret)
	s.handle(mux, http.MethodPost, alertsPath+"/{id}/replay", s.replayAlert)
}

// alertRequest is the body that makes a rule.
type alertRequest struct {
	Rule *pushes.Rule `json:"rule"`
	URL  *string      `json:"url"`
}

// parseAlert checks the body that makes a rule.
func (s *Server) parseAlert(asked alertRequest) (pushes.Rule, string, error) {
	if asked.Rule == nil {
		return pushes.Rule{}, "", invalidMember("rule", "The rule is missing.")
	}
	if asked.URL == nil {
		return pushes.Rule{}, "", invalidMember("url", "The address of the webhook is missing.")
	}
	rule := *asked.Rule
	rule.Ticker = strings.ToUpper(rule.Ticker)
	if err := rule.Check(s.knownSignal, []string{signals.StatusLive, signals.StatusDecayed, signals.StatusDeprecated}); err != nil {
		fault := &pushes.RuleError{}
		if !errors.As(err, &fault) {
			return rule, "", err
		}
		return rule, "", invalidMember("rule/"+fault.Member, fault.Detail)
	}
	if err := pushes.CheckTarget(*asked.URL, s.o.PrivateWebhooks); err != nil {
		return rule, "", invalidMember("url", "Invalid URL: "+err.Error()+".")
	}
	return rule, *asked.URL, nil
}

// createAlert makes a rule of the key.
func (s *Server) createAlert(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticateOwner(w, r)
	if err != nil {
		return err
	}
	var asked alertRequest
	body, err := readExactly(w, r, &asked, false)
	if err != nil {
		return err
	}
	once, err := onceFor(r, key.PublicID, body)
	if err != nil {
		return err
	}
	answer, err := s.makeAlert(r, key, asked, once, func(made view.MadeAlert) ([]byte, error) {
		return view.Encode(view.AlertBody{Data: made, Meta: view.RegisteredMeta{RequestID: w.Header().Get("X-Request-Id"), Warning: secretWarning}})
	})
	if err != nil {
		return err
	}
	var made view.AlertBody // an earlier request may have made it
	if err := json.Unmarshal(answer, &made); err != nil {
		return fmt.Errorf("read the answer with an alert: %w", err)
	}
	w.Header().Set("Location", s.view.PublicURL()+alertsPath+"/"+made.Data.ID)
	writeOnce(w, r, http.StatusCreated, answer)
	return nil
}

// makeAlert makes a rule of a key, and returns the answer that show builds in the same transaction. With once, a repeated request makes no other
// rule and returns the first answer.
func (s *Server) makeAlert(r *http.Request, key postgres.Key, asked alertRequest, once *postgres.Once, show func(view.MadeAlert) ([]byte, error)) ([]byte, error) {
	rule, target, err := s.parseAlert(asked)
	if err != nil {
		return nil, err
	}
	if member := rule.Restriction(); member != "" && s.o.Free && (key.ProUntil == nil || !s.billing.Now().Before(*key.ProUntil)) {
		return nil, errEventsSold[member]
	}
	encoded, err := json.Marshal(rule)
	if err != nil {
		return nil, fmt.Errorf("write a rule: %w", err)
	}
	secret, err := pushes.NewSecret()
	if err != nil {
		return nil, err
	}
	one := postgres.PushRule{PublicID: randomID("alert_"), KeyID: key.ID, Topic: rule.Topic(), Rule: encoded, URL: target}
	answer, err := s.billing.DB.CreatePushRule(r.Context(), one, secret, once, func(stored postgres.PushRule) ([]byte, error) {
		shown, err := showAlert(stored)
		if err != nil {
			return nil, err
		}
		return show(view.MadeAlert{Alert: shown, Secret: secret})
	})
	switch {
	case errors.Is(err, postgres.ErrTooManyRules):
		return nil, errManyAlerts
	case errors.Is(err, postgres.ErrRulesFull):
		return nil, errAlertsFull
	case err != nil:
		return nil, s.rejectBody(r, err)
	}
	return answer, nil
}

// errEventsSold are the problems of a rule that would reveal the sold part of events, by its member: the severity of an event, or its company.
var errEventsSold = map[string]*problemError{"min_severity": eventsSold("min_severity"), "ticker": eventsSold("ticker")}

func eventsSold(member string) *problemError {
	const detail = "Events of the portfolio are sold here, so only a key with Pro can select them by severity or company. An alert without that tells " +
		"the type of each event; /api/v1/events has the rest."
	return &problemError{code: view.CodeInvalidParameter, detail: detail, errors: []view.ParameterError{{Pointer: "/rule/" + member, Detail: detail}}}
}

const secretWarning = "Store this secret now; it is not shown again."

// writeOnce writes an answer that no cache keeps.
func writeOnce(w http.ResponseWriter, r *http.Request, status int, answer []byte) {
	w.Header().Set("Cache-Control", view.CacheNever)
	write(w, r, status, view.TypeJSON, answer)
}

// randomID returns a random public id: a prefix and 130 bits.
func randomID(prefix string) string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	var id [26]byte
	_, _ = rand.Read(id[:]) // it never fails
	for i := range id {
		id[i] = alphabet[id[i]%32]
	}
	return prefix + string(id[:])
}

// listAlerts lists the rules of the key.
func (s *Server) listAlerts(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticate(w, r)
	if err != nil {
		return err
	}
	list, err := s.alertsOf(r, key)
	if err != nil {
		return err
	}
	return s.sendKeyed(w, r, view.Alerts{Data: list})
}

// alertsOf returns the rules of a key, oldest first.
func (s *Server) alertsOf(r *http.Request, key postgres.Key) ([]view.Alert, error) {
	list, err := s.billing.DB.PushRules(r.Context(), key.ID)
	if err != nil {
		return nil, s.unavailable(r, err)
	}
	out := []view.Alert{}
	for _, one := range list {
		shown, err := showAlert(one)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	return out, nil
}

// alert returns a rule of the key with its newest messages.
func (s *Server) alert(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticate(w, r)
	if err != nil {
		return err
	}
	one, list, err := s.billing.DB.PushRuleOf(r.Context(), key.ID, r.PathValue("id"), shownDeliveries)
	if err != nil {
		return s.rejectAlert(r, err)
	}
	body := view.AlertDetail{Data: view.AlertWithDeliveries{Deliveries: []view.AlertDelivery{}}}
	if body.Data.Alert, err = showAlert(one); err != nil {
		return err
	}
	for _, d := range list {
		shown := view.AlertDelivery{
			MessageID: d.MessageID, State: d.State, Attempts: d.Attempts, Status: d.Status, Fault: d.Fault, CreatedAt: d.CreatedAt.UTC(), TriedAt: utc(d.TriedAt),
		}
		if d.PushID != nil {
			shown.Cursor = new(strconv.FormatInt(*d.PushID, 10))
		}
		body.Data.Deliveries = append(body.Data.Deliveries, shown)
	}
	return s.sendKeyed(w, r, body)
}

func showAlert(r postgres.PushRule) (view.Alert, error) {
	out := view.Alert{
		ID: r.PublicID, URL: r.URL, CreatedAt: r.CreatedAt.UTC(), Cursor: strconv.FormatInt(r.After, 10), Armed: r.Armed, Status: "active", FailingSince: utc(r.FailingSince),
		NextTryAt: utc(r.NextTryAt), DisabledAt: utc(r.DisabledAt), DisabledReason: r.DisabledReason,
	}
	switch {
	case r.DisabledAt != nil:
		out.Status = "disabled"
	case r.Failures > 0:
		out.Status = "failing"
	}
	if err := json.Unmarshal(r.Rule, &out.Rule); err != nil {
		return out, fmt.Errorf("read the rule %s: %w", r.PublicID, err)
	}
	return out, nil
}

var (
	errManyAlerts = &problemError{
		code: view.CodeInvalidRequest, detail: fmt.Sprintf("A key can have %d alerts. Delete one first.", postgres.MaxPushRules),
	}
	errAlertsFull = &problemError{code: view.CodeUnavailable, detail: "There are too many alerts across all keys.", retryAfter: "3600"}
	errNoAlert    = &problemError{code: view.CodeNotFound, detail: "This key has no such alert."}
	errTooSoon    = &problemError{
		code: view.CodeRateLimited, detail: "A test or a replay of this alert was requested less than ten seconds ago.", retryAfter: "10",
	}
	errAlertDisabled = &problemError{code: view.CodeInvalidRequest, detail: "The alert is disabled. A replay enables it."}
)

// rejectAlert maps the errors of requests about one rule to problems.
func (s *Server) rejectAlert(r *http.Request, err error) error {
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return errNoAlert
	case errors.Is(err, postgres.ErrTooSoon):
		return errTooSoon
	case errors.Is(err, postgres.ErrRuleDisabled):
		return errAlertDisabled
	}
	return s.rejectBody(r, err)
}

// deleteAlert deletes a rule of the key.
func (s *Server) deleteAlert(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticateOwner(w, r)
	if err != nil {
		return err
	}
	if err := s.billing.DB.DeletePushRule(r.Context(), key.ID, r.PathValue("id")); err != nil {
		return s.rejectAlert(r, err)
	}
	w.Header().Set("Cache-Control", view.CacheNever)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// testAlert sends a test message to the webhook of a rule.
func (s *Server) testAlert(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticateOwner(w, r)
	if err != nil {
		return err
	}
	if _, err := readExactly(w, r, &struct{}{}, true); err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := s.sendTest(r, key, id); err != nil {
		return err
	}
	return s.sent(w, r, id, 1)
}

// sendTest has a test message of a rule sent.
func (s *Server) sendTest(r *http.Request, key postgres.Key, id string) error {
	body, err := pushes.NewTest(id, s.billing.Now())
	if err != nil {
		return err
	}
	if err := s.billing.DB.TestPushRule(r.Context(), key.ID, id, randomID("msg_test_"), body); err != nil {
		return s.rejectAlert(r, err)
	}
	return nil
}

// sent says that messages are on their way.
func (s *Server) sent(w http.ResponseWriter, r *http.Request, id string, messages int) error {
	answer, err := view.Encode(view.AlertSent{Data: view.AlertMessages{Messages: messages, URL: s.view.PublicURL() + alertsPath + "/" + id}})
	if err != nil {
		return err
	}
	writeOnce(w, r, http.StatusAccepted, answer)
	return nil
}

// rotateAlertSecret gives the webhook of a rule another secret.
func (s *Server) rotateAlertSecret(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticateOwner(w, r)
	if err != nil {
		return err
	}
	body, err := readExactly(w, r, &struct{}{}, true)
	if err != nil {
		return err
	}
	once, err := onceFor(r, key.PublicID, body)
	if err != nil {
		return err
	}
	answer, err := s.renewSecret(r, key, r.PathValue("id"), once, func(renewed view.NewAlertSecret) ([]byte, error) {
		return view.Encode(view.AlertSecret{Data: renewed, Meta: view.RegisteredMeta{RequestID: w.Header().Get("X-Request-Id"), Warning: secretWarning}})
	})
	if err != nil {
		return err
	}
	writeOnce(w, r, http.StatusOK, answer)
	return nil
}

// renewSecret gives the webhook of a rule another secret, and returns the answer that show builds in the same transaction. With once, a repeated
// request makes no other secret and returns the first answer.
func (s *Server) renewSecret(r *http.Request, key postgres.Key, id string, once *postgres.Once, show func(view.NewAlertSecret) ([]byte, error)) ([]byte, error) {
	secret, err := pushes.NewSecret()
	if err != nil {
		return nil, err
	}
	answer, until, err := s.billing.DB.RotatePushSecret(r.Context(), key.ID, id, secret, once, func(until time.Time) ([]byte, error) {
		return show(view.NewAlertSecret{Secret: secret, OldExpiresAt: until.Truncate(time.Second)})
	})
	switch {
	case errors.Is(err, postgres.ErrOldSecretSigns):
		return nil, &problemError{
			code:   view.CodeInvalidRequest,
			detail: "The secret before the present one signs until " + until.Format(time.RFC3339) + ". Rotate again after that, or make another alert.",
		}
	case err != nil:
		return nil, s.rejectAlert(r, err)
	}
	return answer, nil
}

// replayAlert sends what a rule selected after a cursor.
func (s *Server) replayAlert(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticateOwner(w, r)
	if err != nil {
		return err
	}
	var asked struct {
		After *string `json:"after"`
	}
	if _, err := readExactly(w, r, &asked, false); err != nil {
		return err
	}
	if asked.After == nil {
		return invalidMember("after", "The cursor of the last message that you have is missing.")
	}
	id := r.PathValue("id")
	messages, err := s.replayRule(r, key, id, *asked.After)
	if err != nil {
		return err
	}
	return s.sent(w, r, id, messages)
}

// replayRule has a rule send what it selected after a cursor. It returns the number of messages.
func (s *Server) replayRule(r *http.Request, key postgres.Key, id, cursor string) (messages int, err error) {
	after, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || after < 0 {
		return 0, invalidMember("after", "This is not a valid cursor: a whole number, 0 or more.")
	}
	messages, err = s.billing.DB.ReplayPushRule(r.Context(), key.ID, id, after)
	switch {
	case errors.Is(err, postgres.ErrCursorAhead):
		return 0, invalidMember("after", "No change has this cursor yet.")
	case err != nil:
		return 0, s.rejectAlert(r, err)
	}
	return messages, nil
}
