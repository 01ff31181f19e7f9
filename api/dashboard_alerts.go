package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
)

// alertForms registers the forms of the dashboard about alerts.
func (s *Server) alertForms(mux *http.ServeMux) {
	for path, h := range map[string]func(http.ResponseWriter, *http.Request, session) error{
		"/alert": s.makeAlertHere, "/alert-test": s.testAlertHere, "/alert-secret": s.rotateAlertSecretHere, "/alert-replay": s.replayAlertHere,
		"/alert-delete": s.deleteAlertHere,
	} {
		s.handleForm(mux, path, s.signedInForm(h))
	}
}

// refusedHere shows a problem of a form on the dashboard, in the page's language. Other errors stay errors.
func (s *Server) refusedHere(w http.ResponseWriter, r *http.Request, x session, err error) error {
	refused := &problemError{}
	if !errors.As(err, &refused) {
		return err
	}
	notice, ok := alertNotice(refused)
	if !ok {
		return err
	}
	kind, _ := view.ProblemKindOf(refused.code)
	return s.show(w, r, kind.Status, x, view.Dashboard{Notice: notice, Bad: true})
}

// faultyMembers are the notices about the members of a request that makes an alert.
var faultyMembers = map[string]string{
	"/url": "bad url", "/rule/on": "bad on", "/rule/signal": "bad signal", "/rule/above": "bad threshold", "/rule/below": "bad threshold",
	"/rule/rearm": "bad rearm", "/rule/ticker": "bad ticker", "/rule/min_severity": "bad severity", "/after": "bad cursor",
}

// alertNotice returns the notice for a problem with an alert.
func alertNotice(p *problemError) (view.Notice, bool) {
	switch p {
	case errReplaced:
		return said("replaced"), true
	case errNoAlert:
		return said("no alert"), true
	case errTooSoon:
		return said("too soon"), true
	case errAlertDisabled:
		return said("alert disabled"), true
	case errManyAlerts:
		return said("many alerts", postgres.MaxPushRules), true
	case errAlertsFull:
		return said("alerts full"), true
	case errEventsSold["min_severity"], errEventsSold["ticker"]:
		return said("events sold"), true
	}
	for _, fault := range p.errors {
		if word, ok := faultyMembers[fault.Pointer]; ok {
			return said(word), true
		}
	}
	return view.Notice{}, false
}

// makeAlertHere makes an alert of the key, like POST /alerts, and shows its secret once.
func (s *Server) makeAlertHere(w http.ResponseWriter, r *http.Request, x session) error {
	if err := ownerOnly(x); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	text := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	asked := alertRequest{Rule: &pushes.Rule{On: text("on"), Ticker: text("ticker")}, URL: new(text("url"))}
	if rule := asked.Rule; rule.On != pushes.OnPick && rule.On != pushes.OnEvent {
		rule.Signal = text("signal")
	}
	for name, into := range map[string]**float64{"above": &asked.Rule.Above, "below": &asked.Rule.Below, "rearm": &asked.Rule.Rearm} {
		if text(name) == "" {
			continue
		}
		f, err := strconv.ParseFloat(text(name), 64)
		if err != nil {
			return s.refusedHere(w, r, x, invalidMember("rule/"+name, name+" is not a number."))
		}
		*into = &f
	}
	if severity := text("min_severity"); severity != "" {
		n, err := strconv.Atoi(severity)
		if err != nil {
			return s.refusedHere(w, r, x, invalidMember("rule/min_severity", "min_severity is not a whole number from 1 to 5."))
		}
		asked.Rule.MinSeverity = &n
	}
	secret, err := s.makeAlert(r, x.key, asked, nil, func(made view.MadeAlert) ([]byte, error) { return []byte(made.Secret), nil })
	if err != nil {
		return s.refusedHere(w, r, x, err)
	}
	return s.show(w, r, http.StatusOK, x, view.Dashboard{NewSecret: string(secret), Notice: said("alert made")})
}

// testAlertHere sends a test message of an alert.
func (s *Server) testAlertHere(w http.ResponseWriter, r *http.Request, x session) error {
	if err := ownerOnly(x); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	if err := s.sendTest(r, x.key, r.PostForm.Get("id")); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	return s.show(w, r, http.StatusAccepted, x, view.Dashboard{Notice: said("test sent")})
}

// rotateAlertSecretHere gives the webhook of an alert another secret, and shows it once.
func (s *Server) rotateAlertSecretHere(w http.ResponseWriter, r *http.Request, x session) error {
	if err := ownerOnly(x); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	var renewed view.NewAlertSecret
	_, err := s.renewSecret(r, x.key, r.PostForm.Get("id"), nil, func(made view.NewAlertSecret) ([]byte, error) {
		renewed = made
		return nil, nil
	})
	if err != nil {
		return s.refusedHere(w, r, x, err)
	}
	until := renewed.OldExpiresAt.Format("2006-01-02 15:04 UTC")
	return s.show(w, r, http.StatusOK, x, view.Dashboard{NewSecret: renewed.Secret, Notice: said("secret rotated", until)})
}

// replayAlertHere sends again what an alert sent after a cursor.
func (s *Server) replayAlertHere(w http.ResponseWriter, r *http.Request, x session) error {
	if err := ownerOnly(x); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	messages, err := s.replayRule(r, x.key, r.PostForm.Get("id"), strings.TrimSpace(r.PostForm.Get("after")))
	if err != nil {
		return s.refusedHere(w, r, x, err)
	}
	return s.show(w, r, http.StatusAccepted, x, view.Dashboard{Notice: said("replayed", messages)})
}

// deleteAlertHere deletes an alert.
func (s *Server) deleteAlertHere(w http.ResponseWriter, r *http.Request, x session) error {
	if err := ownerOnly(x); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	if err := s.billing.DB.DeletePushRule(r.Context(), x.key.ID, r.PostForm.Get("id")); err != nil {
		return s.refusedHere(w, r, x, s.rejectAlert(r, err))
	}
	return s.show(w, r, http.StatusOK, x, view.Dashboard{Notice: said("alert deleted")})
}

// ownerOnly refuses a session that was opened with a replaced text of the key.
func ownerOnly(x session) error {
	if x.key.EndsAt != nil {
		return errReplaced
	}
	return nil
}

// addAlerts adds the alerts of the key to its dashboard.
func (s *Server) addAlerts(r *http.Request, x session, d *view.Dashboard) error {
	if s.o.Pushes == nil {
		return nil
	}
	list, err := s.alertsOf(r, x.key)
	if err != nil {
		return err
	}
	d.HasAlerts, d.Alerts, d.AlertKinds = true, list, pushes.Kinds
	if st := s.view.State(); st != nil {
		for _, sig := range st.Signals {
			d.AlertSignals = append(d.AlertSignals, sig.Definition.ID)
		}
	}
	return nil
}
