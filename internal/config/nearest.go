package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Nearest returns the word of a list that differs least from word, empty where none is near. Upper and lower case are the same, and two
// letters that changed places count as one difference.
func Nearest(word string, list ...string) string {
	best, least := "", 2+len(word)/6
	for _, other := range list {
		if d := distance(strings.ToLower(word), strings.ToLower(other)); d < least && d < len(other) {
			best, least = other, d
		}
	}
	return best
}

// Suggest is the end of a message about a word that is not in a list: the nearest of the list, or nothing.
func Suggest(word string, list ...string) string {
	if near := Nearest(word, list...); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// distance is how many letters must be added, removed, replaced or swapped with their neighbour to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			differs := 1
			if a[i-1] == b[j-1] {
				differs = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+differs)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// shortTypo and longTypo are the lengths of names from which one difference, and two, are taken for a slip. Shorter names and those of one
// word belong to other programs too often.
const (
	shortTypo = 8
	longTypo  = 12
)

// Mistyped finds names in an environment that are nearly those of a setting which is not given, and says which. Other names belong to
// other programs.
func Mistyped(environ []string) (faults []string) {
	given := map[string]bool{}
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		given[name] = true
	}
	var known []string
	for _, s := range (Settings{}).List() {
		known = append(known, s.Name)
	}
	for name := range given {
		if len(name) < shortTypo || !strings.Contains(name, "_") || slices.Contains(known, name) {
			continue
		}
		near := Nearest(name, known...)
		if near == "" || given[near] {
			continue
		}
		if d := distance(name, near); d == 1 || d == 2 && len(name) >= longTypo {
			faults = append(faults, fmt.Sprintf("%s is not a setting; did you mean %s? (Unset it where it belongs to another program.)", name, near))
		}
	}
	slices.Sort(faults)
	return faults
}

// checkURLs checks the settings that are URLs of one kind. Values that may hold a password are not repeated.
func (s Settings) checkURLs(bad func(name, format string, args ...any)) {
	web := []string{"https", "http"}
	one := func(name, value string, schemes ...string) {
		if value == "" {
			return
		}
		u, err := url.Parse(value)
		switch {
		case err != nil || u.Scheme == "":
			bad(name, "the value is not a URL; it begins with %s://", strings.Join(schemes, ":// or "))
		case !slices.Contains(schemes, u.Scheme):
			bad(name, "a URL with the scheme %q is not one of %s%s", u.Scheme, strings.Join(schemes, ", "), Suggest(u.Scheme, schemes...))
		case u.Host == "":
			bad(name, "the URL names no host")
		}
	}
	one("PUBLIC_URL", s.PublicURL, web...)
	one("EXPLORER_URL", s.ExplorerURL, web...)
	one("X402_FACILITATOR_URL", s.X402FacilitatorURL, web...)
	one("STRIPE_API_URL", s.StripeAPIURL, web...)
	one("ALERT_WEBHOOK_URL", s.AlertWebhookURL, web...)
	one("ALERT_SMTP_URL", s.AlertSMTPURL, "smtp", "smtps")
	one("OTEL_EXPORTER_OTLP_ENDPOINT", s.OTLPEndpoint, web...)
	for _, u := range s.BaseRPCURLs() {
		one("BASE_RPC_URL", u, web...)
	}
	for _, u := range []struct{ name, value string }{
		{"DATABASE_URL", s.DatabaseURL},
		{"DATABASE_API_URL", s.DatabaseAPIURL},
		{"DATABASE_WORKER_URL", s.DatabaseWorkerURL},
		{"DATABASE_REPLICA_URL", s.ReplicaURL},
	} {
		if scheme, _, ok := strings.Cut(u.value, "://"); ok && scheme != "postgres" && scheme != "postgresql" { // else it is key=value
			bad(u.name, "a URL with the scheme %q is not one of postgres, postgresql%s", scheme, Suggest(scheme, "postgres", "postgresql"))
		}
	}
	if u, err := url.Parse(s.LedgerURL); s.LedgerURL != "" && (err != nil || u.Scheme == "") {
		bad("LEDGER_URL", "%q is not a URL", s.LedgerURL)
	}
}
