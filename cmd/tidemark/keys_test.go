package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"tidemark/accounts"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

func TestKeysOnTheCommandLine(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	api, err := postgres.Open(t.Context(), url, postgres.RoleAPI)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	register := func(id, name string) (string, accounts.Key) {
		t.Helper()
		text, err := accounts.NewKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		r := postgres.Registration{PublicID: "key_" + strings.Repeat(id, 26), Name: name, Key: text}
		if _, err := api.Register(t.Context(), r, nil, func(postgres.Registered) ([]byte, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
		return r.PublicID, text
	}
	lost, text := register("a", "lost agent")
	found, _ := register("b", "found agent")
	if _, err := postgres.NewCharger(api.KeyStore).Charge(t.Context(), postgres.Charge{KeyID: 1, Price: 10_000, Endpoint: "/research/{ticker}", RequestID: "r"}); err != nil {
		t.Fatal(err)
	}
	command := func(want int, say []string, args ...string) {
		t.Helper()
		var out, complaint bytes.Buffer
		code := run(t.Context(), append([]string{"keys"}, append(args, "--database-url="+url)...), &out, &complaint)
		if code != want {
			t.Errorf("%v: exit %d, want %d: %s%s", args, code, want, out.String(), complaint.String())
		}
		for _, s := range say {
			if !strings.Contains(out.String()+complaint.String(), s) {
				t.Errorf("%v lacks %q:\n%s%s", args, s, out.String(), complaint.String())
			}
		}
		if strings.Contains(out.String()+complaint.String(), text.Reveal()) {
			t.Errorf("%v prints a whole key", args)
		}
	}
	command(0, []string{lost, text.Prefix(), "lost agent", "0.19", found})
	command(0, []string{found}, "list", "FOUND")
	command(0, []string{lost}, "list", text.Reveal())
	command(2, []string{"unknown key"}, "show", "key_nobody")
	command(2, []string{"--reason"}, "credit", lost, "5")
	command(2, []string{"--reason"}, "revoke", lost, "--reason= ")
	command(2, []string{"not an amount"}, "credit", lost, "5e3", "--reason=x")
	command(2, []string{"amount is 0"}, "credit", lost, "0", "--reason=x")
	command(2, []string{"--days"}, "grant", lost, "--days=0", "--reason=x")
	command(0, []string{"5.00 USD more: 5.19 USD"}, "credit", lost, "5", "--reason=an outage")
	command(0, []string{"is Pro until"}, "grant", lost, "--days=10", "--reason=a promise")
	command(0, []string{"is revoked", "5.19 USD"}, "revoke", lost, "--reason=its holder lost it")
	command(1, []string{"was revoked already", "its holder lost it"}, "revoke", lost, "--reason=again")
	command(2, []string{"to itself"}, "move", lost, lost, "--reason=x")
	command(1, []string{"could not be spent"}, "move", found, lost, "--reason=x")
	command(0, []string{"5.19 USD and the Pro plan: moved"}, "move", lost, found, "--reason=proved to be the same person")
	command(1, []string{"nothing to move"}, "move", lost, found, "--reason=x")
	command(0, []string{
		"balance", "0.00 USD", "revoked", "its holder lost it", "grant, Pro until", "a promise", "move  ", "-5.19", found + " by " + operator() + ": proved to be",
		"credit", "an outage", "charge", "-0.01", "/research/{ticker}", "trial", "0.20",
	}, "show", lost)
	command(0, []string{"5.39 USD", "move, Pro until"}, "show", found)
	command(0, []string{found}, "list", "--limit=1")
	for _, k := range []string{lost, found} {
		list, err := api.Keys(t.Context(), postgres.KeyFilter{PublicID: k, Limit: 1})
		if err != nil || len(list) != 1 {
			t.Fatal(fmt.Sprint(list), err)
		}
	}
}
