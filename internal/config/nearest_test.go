package config

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	statuses := []string{"due", "queued", "running", "succeeded", "failed", "skipped"}
	for word, want := range map[string]string{
		"faild": "failed", "FAILED": "failed", "sucxeeded": "succeeded", "runnin": "running", "qeuued": "queued",
		"done": "", "x": "", "": "",
	} {
		if got := Nearest(word, statuses...); got != want {
			t.Errorf("the nearest of %q is %q, want %q", word, got, want)
		}
	}
}

func TestAMistypedSettingIsFoundAndTheNamesOfOtherProgramsAreNot(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ALERT_WEBHOK_URL": "ALERT_WEBHOOK_URL", "ALERT_WEBHOOK_ULR": "ALERT_WEBHOOK_URL", "DATABSE_URL": "DATABASE_URL", "LOG_LEVELS": "LOG_LEVEL",
		"X402_PAYTO": "X402_PAY_TO", "PRICES_FODLER": "PRICES_FOLDER",
		"PATH": "", "HOME": "", "CONTRACT": "", "PRICE": "", "WORD": "", "POSTGRES_PASSWORD": "", "OTEL_EXPORTER_OTLP_PROTOCOL": "", "GOCACHE": "",
		"OTEL_TRACES_SAMPLER": "", "PGDATABASE": "", "AWS_ACCESS_KEY_ID": "", "STATE_DIR": "", "LC_ADDRESS": "", "SSH_AUTH_SOCK": "", "REDIS_HOST": "",
	} {
		got := strings.Join(Mistyped([]string{name + "=x", "PATH=/bin"}), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := Mistyped([]string{"DATABASE_URI=a", "DATABASE_URL=b"}); got != nil {
		t.Errorf("where the setting is given, its neighbour belongs to another program: %v", got)
	}
}

func TestURLsOfTheWrongKindAreFoundAndNoPasswordIsRepeated(t *testing.T) {
	t.Parallel()
	s, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	for _, one := range s.List() {
		if one.Default != one.Value && !strings.HasSuffix(one.Name, "_LIMIT") { // a rate is written in full
			t.Errorf("%s is %q by default, want %q", one.Name, one.Value, one.Default)
		}
	}
	s.PublicURL, s.AlertWebhookURL, s.BaseRPCURL = "htps://example.com", "hooks.example.com/secret", "https://a.example,htt://b.example/secret"
	s.DatabaseURL, s.AlertSMTPURL, s.StripeAPIURL = "postgre://u:secret@h/d", "smpt://u:secret@h", "https://"
	err = s.Validate()
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatalf("the faults: %v", err)
	}
	for _, want := range []string{
		"PUBLIC_URL: a URL with the scheme \"htps\" is not one of https, http; did you mean https?", "ALERT_WEBHOOK_URL: the value is not a URL",
		"BASE_RPC_URL: a URL with the scheme \"htt\" is not one of https, http; did you mean http?", "STRIPE_API_URL: the URL names no host",
		"DATABASE_URL: a URL with the scheme \"postgre\" is not one of postgres, postgresql; did you mean postgres?", "did you mean smtp?",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the faults lack %q:\n%v", want, err)
		}
	}
	// A command reports what it reads.
	if err := s.Validate("PUBLIC_URL", "ADDR"); err == nil || strings.Contains(err.Error(), "DATABASE_URL") || !strings.Contains(err.Error(), "PUBLIC_URL") {
		t.Errorf("the faults of two settings: %v", err)
	}
	if err := s.Validate(slices.Repeat([]string{"ADDR"}, 2)...); err != nil {
		t.Errorf("a setting without a fault: %v", err)
	}
}
