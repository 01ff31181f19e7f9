// Command go-client is a tour of the service with a client that oapi-codegen generates from its description: signals, the hash chain
// recomputed, a free key, picks.
//
//	export TIDEMARK_URL=http://127.0.0.1:8080
//	go generate ./tidemark && go run .
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"

	"example.com/tour/tidemark"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := tour(ctx, os.Getenv("TIDEMARK_URL")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tour(ctx context.Context, server string) error {
	c, err := tidemark.NewClientWithResponses(server)
	if err != nil {
		return err
	}
	catalog, err := c.ListSignalsWithResponse(ctx)
	if err != nil {
		return err
	}
	if catalog.JSON200 == nil {
		return refused("the signals", catalog.HTTPResponse, catalog.Body)
	}
	for _, s := range catalog.JSON200.Signals {
		if s.Value != nil {
			fmt.Printf("%s: %.6g %s\n", s.Id, *s.Value, s.Unit)
		}
	}
	chain, err := c.VerifyPicksWithResponse(ctx, nil)
	if err != nil {
		return err
	}
	if chain.JSON200 == nil {
		return refused("the record", chain.HTTPResponse, chain.Body)
	}
	if err := verify(chain.JSON200); err != nil {
		return err
	}
	fmt.Printf("%d picks recomputed, the chain holds\n", len(chain.JSON200.Picks))
	return picks(ctx, c)
}

// verify recomputes every link, from the values that were hashed alone.
func verify(chain *tidemark.VerificationChain) error {
	previous := strings.Repeat("0", 64)
	for _, p := range chain.Picks {
		sum := sha256.Sum256([]byte(strings.Join([]string{p.Ticker, p.Price, p.Date.String(), previous}, "|")))
		if p.PreviousHash != previous || p.Hash != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("the chain is broken at pick %d", p.Seq)
		}
		previous = p.Hash
	}
	if previous != chain.HeadHash {
		return errors.New("the head of the chain is another one than the server says")
	}
	return nil
}

// picks registers a free key, lists three picks with it, asks about a company that there is not, and revokes the key.
func picks(ctx context.Context, c *tidemark.ClientWithResponses) error {
	registered, err := c.RegisterKeyWithResponse(ctx, nil, tidemark.RegistrationRequest{Name: "go client tour"})
	if err != nil {
		return err
	}
	if registered.JSON201 == nil {
		return refused("a key", registered.HTTPResponse, registered.Body)
	}
	key := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+registered.JSON201.Data.ApiKey)
		return nil
	}
	limit := 3
	list, err := c.ListPicksWithResponse(ctx, &tidemark.ListPicksParams{Limit: &limit}, key)
	if err != nil {
		return err
	}
	if list.JSON200 == nil {
		return refused("the picks", list.HTTPResponse, list.Body)
	}
	for _, p := range list.JSON200.Data {
		if p.ReturnPct != nil {
			fmt.Printf("%s %s at %s: %+.2f %%\n", p.Date, p.Ticker, p.Price, *p.ReturnPct)
		}
	}
	unknown, err := c.GetResearchWithResponse(ctx, "NOSUCH", nil, key)
	if err != nil {
		return err
	}
	if p := unknown.ApplicationproblemJSON404; p == nil || p.Code != "unknown_ticker" {
		return fmt.Errorf("research about an unknown company: %s", unknown.Status())
	}
	revoked, err := c.RevokeKeyWithResponse(ctx, key)
	if err == nil && revoked.StatusCode() != http.StatusNoContent {
		err = refused("revoking the key", revoked.HTTPResponse, revoked.Body)
	}
	return err
}

// refused is the error of a response that is not the described one.
func refused(what string, r *http.Response, body []byte) error {
	return fmt.Errorf("%s: %s: %.300s", what, r.Status, body)
}
