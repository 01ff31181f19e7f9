package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"tidemark/api/view"
	"tidemark/internal/pushes"
)

// alertForms registers the forms of the dashboard about alerts.
func (s *Server) alertForms(mux *http.ServeMux) {
	for path, h := range map[string]func(http.ResponseWriter, *http.Request, session) error{
		"/alert": s.makeAlertHere, "/alert-test": s.testAlertHere, "/alert-delete": s.deleteAlertHere,
	} {
		s.handle(mux, http.MethodPost, dashboardPath+path, s.signedInForm(h))
	}
}

// refusedHere shows a problem of a form on the dashboard. Other errors stay errors.
func (s *Server) refusedHere(w http.ResponseWriter, r *http.Request, x session, err error) error {
	refused := &problemError{}
	if !errors.As(err, &refused) {
		return err
	}
	kind, _ := view.ProblemKindOf(refused.code)
	return s.show(w, r, kind.Status, x, view.Dashboard{Notice: refused.detail, Bad: true})
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
			return s.refusedHere(w, r, x, invalidMember("rule/"+name, name+" is no number."))
		}
		*into = &f
	}
	made, err := s.makeAlert(r, x.key, asked)
	if err != nil {
		return s.refusedHere(w, r, x, err)
	}
	return s.show(w, r, http.StatusOK, x, view.Dashboard{NewSecret: made.Secret, Notice: "The alert is made. Send it a test message."})
}

// testAlertHere sends a test message of an alert.
func (s *Server) testAlertHere(w http.ResponseWriter, r *http.Request, x session) error {
	if err := ownerOnly(x); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	if err := s.sendTest(r, x.key, r.PostForm.Get("id")); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	return s.show(w, r, http.StatusAccepted, x, view.Dashboard{Notice: "A test message is on its way. GET /api/v1/alerts/ID tells what the webhook answered."})
}

// deleteAlertHere deletes an alert.
func (s *Server) deleteAlertHere(w http.ResponseWriter, r *http.Request, x session) error {
	if err := ownerOnly(x); err != nil {
		return s.refusedHere(w, r, x, err)
	}
	if err := s.billing.DB.DeletePushRule(r.Context(), x.key.ID, r.PostForm.Get("id")); err != nil {
		return s.refusedHere(w, r, x, s.rejectAlert(r, err))
	}
	return s.show(w, r, http.StatusOK, x, view.Dashboard{Notice: "The alert is deleted."})
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
