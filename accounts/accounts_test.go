package accounts_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
)

// priced are example endpoints.
var priced = []accounts.Endpoint{
	{Path: "/picks", Price: 5_000, OnFreePlan: true, Fixed: true},
	{Path: "/research/{ticker}", Price: 10_000, Fixed: true},
	{Path: "/events"},
	{Path: "/digest/latest"},
}

func tariff(t *testing.T, m accounts.Model, prices string) accounts.Tariff {
	t.Helper()
	out, err := accounts.NewTariff(m, priced, prices)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPlanEndsAtItsInstant(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 12, 20, 21, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name  string
		model accounts.Model
		until *time.Time
		at    time.Time
		want  accounts.Plan
	}{
		{"never paid", accounts.ModelPlan, nil, end, accounts.PlanFree},
		{"a nanosecond before the end", accounts.ModelPlan, &end, end.Add(-1), accounts.PlanPro},
		{"at the end", accounts.ModelPlan, &end, end, accounts.PlanFree},
		{"after it", accounts.ModelPlan, &end, end.AddDate(0, 1, 0), accounts.PlanFree},
		{"in the balance model", accounts.ModelBalance, &end, end.Add(-1), accounts.PlanBalance},
	} {
		if got := accounts.PlanAt(c.model, c.until, c.at); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAnOperatorPricesWhatHasNoPrice(t *testing.T) {
	t.Parallel()
	got := tariff(t, accounts.ModelBalance, " /events=0.001, /digest/latest=2")
	e, _ := got.Endpoint("/events")
	d, _ := got.Endpoint("/digest/latest")
	if e.Price != 1000 || d.Price != 2_000_000 {
		t.Errorf("prices %s and %s", e.Price, d.Price)
	}
	if _, err := accounts.NewTariff("barter", priced, ""); err == nil {
		t.Error("there is a model barter")
	}
	_, err := accounts.NewTariff(accounts.ModelBalance, priced, "/picks=1,/none=1,/events=-1,/events")
	for _, want := range []string{"/picks", "/none", `"-1"`, "price of /events"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the faults lack %s: %v", want, err)
		}
	}
}

func TestAmountsAreExactBothWays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		micros           accounts.Micros
		string, shortest string
	}{
		{0, "0.00", "0"},
		{1, "0.000001", "0.000001"},
		{1_000, "0.001", "0.001"},
		{5_000, "0.005", "0.005"},
		{10_000, "0.01", "0.01"},
		{190_000, "0.19", "0.19"},
		{200_000, "0.20", "0.2"},
		{5_000_000, "5.00", "5"},
		{5_000_001, "5.000001", "5.000001"},
		{-4_800_000, "-4.80", "-4.8"},
		{1<<63 - 1, "9223372036854.775807", "9223372036854.775807"},
		{-1 << 63, "-9223372036854.775808", "-9223372036854.775808"},
	} {
		if got := c.micros.String(); got != c.string {
			t.Errorf("%d is %s, want %s", int64(c.micros), got, c.string)
		}
		if got := c.micros.Shortest(); got != c.shortest {
			t.Errorf("%d is %s at its shortest, want %s", int64(c.micros), got, c.shortest)
		}
		if c.micros < 0 || c.micros > 1e17 {
			continue
		}
		for _, text := range []string{c.string, c.shortest} {
			if got, err := accounts.ParseMicros(text); err != nil || got != c.micros {
				t.Errorf("%s is read as %d (%v), want %d", text, int64(got), err, int64(c.micros))
			}
		}
	}
	for _, bad := range []string{"", ".", "5.", ".5", "-1", "+1", "1e3", "0x10", "1,5", " 1", "1 ", "1.0000001", "1.2.3", "٣", "9999999999999", "1_000"} {
		if got, err := accounts.ParseMicros(bad); err == nil {
			t.Errorf("%q is read as %s", bad, got)
		}
	}
}

func FuzzParseMicros(f *testing.F) {
	for _, s := range []string{"0", "0.20", "5", "123456789012.123456", "-1", "1e5", "00.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := accounts.ParseMicros(s)
		if err != nil {
			return
		}
		for _, text := range []string{m.String(), m.Shortest()} {
			if again, err := accounts.ParseMicros(text); err != nil || again != m {
				t.Errorf("%q is read as %d, and that written as %q read as %d (%v)", s, int64(m), text, int64(again), err)
			}
		}
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	// zlib gives the CRC-32 of 30 zeros as 0x77e5db82 = 2011552642, which is 2C8GjS in base62.
	const known = "tmk_live_" + "000000000000000000000000000000" + "2C8GjS"
	if _, err := accounts.ParseKey(known); err != nil {
		t.Errorf("a key computed elsewhere is refused: %v", err)
	}
	key, err := accounts.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := key.Reveal()
	if len(text) != 45 || !strings.HasPrefix(text, "tmk_live_") || key.Prefix() != text[:13] {
		t.Errorf("a key of %d characters that begins with %s, shown as %s", len(text), text[:9], key.Prefix())
	}
	parsed, err := accounts.ParseKey(text)
	if err != nil || parsed.Hash() != key.Hash() {
		t.Errorf("a new key is not read back: %v", err)
	}
	for i := range text {
		for _, c := range []byte("0Az_") {
			typo := []byte(text)
			if typo[i] == c {
				continue
			}
			typo[i] = c
			if _, err := accounts.ParseKey(string(typo)); !errors.Is(err, accounts.ErrKeyForm) {
				t.Errorf("a key with another character at %d is read: %v", i, err)
			}
		}
	}
	for _, bad := range []string{"", text + "0", text[:44], " " + text, strings.ToUpper(text), "tmk_else_" + text[9:]} {
		if _, err := accounts.ParseKey(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	test, err := accounts.NewTestKey(rand.Reader)
	if err != nil || !strings.HasPrefix(test.Reveal(), "tmk_test_") || !test.Test() || key.Test() {
		t.Errorf("a sandbox's key: %s, %v", test, err)
	}
	if parsed, err := accounts.ParseKey(test.Reveal()); err != nil || !parsed.Test() {
		t.Errorf("a sandbox's key is not read back: %v", err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("a key", "key", key)
	for _, shown := range []string{fmt.Sprint(key), fmt.Sprintf("%v %+v %#v %s %q", key, key, key, key, key), log.String()} {
		if strings.Contains(shown, text[13:]) || strings.Contains(shown, text[20:40]) {
			t.Errorf("the key shows itself: %s", shown)
		}
	}
	if h := key.Hash(); !h.Equal(h[:]) || h.Equal(h[1:]) || h.Equal(nil) {
		t.Error("hashes are compared wrongly")
	}
}

// A character's share of 1,000 keys is within five standard deviations of a fair one.
func TestKeysAreFair(t *testing.T) {
	t.Parallel()
	count := map[byte]int{}
	for range 1000 {
		key, err := accounts.NewKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []byte(key.Reveal()[9:39]) {
			count[c]++
		}
	}
	if len(count) != 62 {
		t.Errorf("%d characters, want 62", len(count))
	}
	for c, n := range count {
		if n < 484-5*22 || n > 484+5*22 {
			t.Errorf("%q %d times of 30000", c, n)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"my-agent": "my-agent", "  mi agente ñ 🚀 ": "mi agente ñ 🚀", strings.Repeat("é", 100): strings.Repeat("é", 100),
		"शृंखला\u200dएजेंट 👩\u200d🔬": "शृंखला\u200dएजेंट 👩\u200d🔬", // joiners are part of scripts and of pictures
	} {
		if got, err := accounts.CleanName(in); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%q is %q (%v)", in, got, err)
		}
	}
	for _, bad := range []string{"", "   ", "\t\n", "a\x00b", "a\x1b[31m", "two\nlines", "a\u2028b", "a\u202eb", "\u2066a", "\xff", strings.Repeat("é", 101)} {
		if got, err := accounts.CleanName(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, got)
		}
	}
}
