package ops

import (
	"net"
	"net/http"
	"net/netip"
	"runtime/pprof"
	"strconv"
	"time"
)

// ProfilesPath is the path of the process's Go profiles: "profile" for the processor, and "heap", "allocs", "goroutine", "block", "mutex",
// "threadcreate".
const ProfilesPath = "/debug/pprof/"

// The request chooses the duration of a processor profile.
const usualProfile, maxProfile = 30 * time.Second, 5 * time.Minute

// profile serves a Go profile to a program on this machine, for example `go tool pprof`. A profile takes processor time and names functions
// and goroutines. So requests from other machines are refused, and requests from pages of other sites in an operator's browser too.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) {
	if !fromThisMachine(r.RemoteAddr) {
		http.Error(w, "Profiles are for programs on the machine of this process.", http.StatusForbidden)
		return
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		http.Error(w, "Profiles are not for pages of other sites.", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	name := r.PathValue("name")
	if name == "profile" {
		s.profileProcessor(w, r)
		return
	}
	p := pprof.Lookup(name)
	if p == nil {
		http.Error(w, "There is no such profile.", http.StatusNotFound)
		return
	}
	debug := 0
	if r.FormValue("debug") == "1" {
		debug = 1
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	_ = p.WriteTo(w, debug) // a disconnected client is not a fault
}

// profileProcessor profiles the processor until the chosen time is over or the client disconnects.
func (s *Server) profileProcessor(w http.ResponseWriter, r *http.Request) {
	took := usualProfile
	if text := r.FormValue("seconds"); text != "" {
		seconds, err := strconv.Atoi(text)
		if took = time.Duration(seconds) * time.Second; err != nil || took <= 0 || took > maxProfile {
			http.Error(w, "seconds is a number from 1 to 300.", http.StatusBadRequest)
			return
		}
	}
	// An error means that the connection supports no deadlines, so none needs to be moved.
	_ = http.NewResponseController(w).SetWriteDeadline(s.o.Metrics.Now().Add(took + answerTimeout))
	if err := pprof.StartCPUProfile(w); err != nil {
		http.Error(w, "The processor is being profiled already.", http.StatusConflict)
		return
	}
	defer pprof.StopCPUProfile()
	t := time.NewTimer(took)
	defer t.Stop()
	select {
	case <-r.Context().Done():
	case <-t.C:
	}
}

// fromThisMachine reports whether a request's remote address belongs to this machine.
func fromThisMachine(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
