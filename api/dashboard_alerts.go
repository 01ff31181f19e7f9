package api

import (
	"errors"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
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
	field := ""
	if len(refused.errors) > 0 {
		field = path.Base(refused.errors[0].Pointer)
	}
	return s.show(w, r, kind.Status, x, view.Dashboard{Notice: notice, Bad: true, Field: field})
}

// sentBefore shows that a form was sent before, and refuses other errors as refusedHere does.
func (s *Server) sentBefore(w http.ResponseWriter, r *http.Request, x session, err error, notice view.Notice) error {
	if errors.Is(err, errFormSent) {
		return s.show(w, r, http.StatusConflict, x, view.Dashboard{Notice: notice, Bad: true})
	}
	return s.refusedHere(w, r, x, err)
}

// numberForm is a number as people write it: a sign, whole digits, and a mark with decimals.
var numberForm = regexp.MustCompile(`^([-+]?)([0-9]*)(?:([.,])([0-9]+))?$`)

// enteredNumber returns the number in a field of a form with a decimal point, or "" for an empty field. It reads the decimal mark of the
// page's language. Where that is a comma, a point is the decimal mark, too, unless it could stand between thousands: 30.5 is read, and 1.500
// is refused. ok is false for a text that is not a number.
func enteredNumber(r *http.Request, field string) (number string, ok bool) {
	text := strings.ReplaceAll(strings.TrimSpace(r.PostForm.Get(field)), "\u2212", "-")
	m := numberForm.FindStringSubmatch(text)
	if m == nil || m[2] == "" && m[4] == "" {
		return "", text == ""
	}
	sign, whole, mark, decimals := m[1], m[2], m[3], m[4]
	lang, _ := langOf(r)
	switch decimal := languages.Or(lang).Decimal; {
	case mark == "" || mark == decimal:
	case mark == ",":
		return "", false
	case len(decimals) == 3 && len(whole) <= 3 && whole != "" && whole[0] != '0':
		return "", false
	}
	if mark == "" {
		return sign + whole, true
	}
	return sign + whole + "." + decimals, true
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
	for _, n := range []struct {
		field string
		into  **float64
	}{{"above", &asked.Rule.Above}, {"below", &asked.Rule.Below}, {"rearm", &asked.Rule.Rearm}} {
		number, ok := enteredNumber(r, n.field)
		if number == "" && ok {
			continue
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return s.show(w, r, http.StatusBadRequest, x, view.Dashboard{Notice: said("bad number"), Bad: true, Field: n.field})
		}
		*n.into = &f
	}
	if severity := text("min_severity"); severity != "" {
		n, err := strconv.Atoi(severity)
		if err != nil {
			return s.refusedHere(w, r, x, invalidMember("rule/min_severity", "min_severity is not a whole number from 1 to 5."))
		}
		asked.Rule.MinSeverity = &n
	}
	once := s.formOnce(r, x.key.PublicID)
	if once == nil {
		return s.show(w, r, http.StatusBadRequest, x, view.Dashboard{Notice: said("old page"), Bad: true})
	}
	secret := ""
	if _, err := s.makeAlert(r, x.key, asked, once, func(made view.MadeAlert) ([]byte, error) {
		secret = made.Secret
		return nil, nil
	}); err != nil {
		return s.sentBefore(w, r, x, err, said("alert made before"))
	}
	return s.show(w, r, http.StatusOK, x, view.Dashboard{NewSecret: secret, Notice: said("alert made")})
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
	once := s.formOnce(r, x.key.PublicID)
	if once == nil {
		return s.show(w, r, http.StatusBadRequest, x, view.Dashboard{Notice: said("old page"), Bad: true})
	}
	var renewed view.NewAlertSecret
	_, err := s.renewSecret(r, x.key, r.PostForm.Get("id"), once, func(made view.NewAlertSecret) ([]byte, error) {
		renewed = made
		return nil, nil
	})
	if err != nil {
		return s.sentBefore(w, r, x, err, said("secret rotated before"))
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
