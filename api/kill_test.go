package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

// processVariable contains the database of a test binary that runs as an API process instead of running tests.
const processVariable = "TIDEMARK_TEST_API_DATABASE"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(processVariable); dsn != "" {
		if err := beProcess(context.Background(), dsn); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	pgtest.Main(m)
}

// beProcess serves priced responses until it is killed. It prints its address as the first line.
func beProcess(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn, postgres.RoleAPI)
	if err != nil {
		return err
	}
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + ln.Addr().String()
	v, err := view.New(view.Options{Store: db, PublicURL: base, World: view.WorldLive, Now: time.Now, Log: quiet})
	if err != nil {
		return err
	}
	s := api.New(api.Options{
		View: v, Log: quiet, Accounts: &api.Accounts{DB: db, Tariff: tariff, Now: time.Now}, Data: map[string]api.Build{"/picks": build},
	})
	fmt.Println(base)
	go func() { _ = s.Run(ctx) }()
	return s.Serve(ctx, ln)
}

// startProcess starts an API process. It returns the address and a function that kills the process.
func (s *system) startProcess() (address string, kill func()) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), self)
	cmd.Env = append(os.Environ(), processVariable+"="+s.dsn)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	s.t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Fatalf("the API process says nothing: %v", err)
	}
	return strings.TrimSpace(line), kill
}

// TestKilledInFullFlight is R6: many requests on a balance of exactly k prices, while the API process is killed repeatedly. Clients without
// a response retry with the same Idempotency-Key.
func TestKilledInFullFlight(t *testing.T) {
	t.Parallel()
	const k, requests, clients, kills = 400, 500, 48, 3
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	worker := s.open(postgres.RoleWorker)
	if _, err := worker.Credit(t.Context(), 1, k*5000-accounts.Trial, postgres.Gift{Ref: "1", By: "test", Reason: "k prices in all"}); err != nil {
		t.Fatal(err)
	}
	var address atomic.Pointer[string]
	url, kill := s.startProcess()
	address.Store(&url)

	var answered, refused, unanswered atomic.Int64
	work := make(chan int)
	var wait sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: 30 * time.Second}
	for range clients {
		wait.Go(func() {
			for n := range work {
				for {
					status, err := s.buy(client, *address.Load(), key, fmt.Sprintf("request-%d", n))
					if err != nil {
						if t.Context().Err() != nil {
							return
						}
						unanswered.Add(1)
						select {
						case <-t.Context().Done():
						case <-time.After(20 * time.Millisecond): // the next process is starting
						}
						continue
					}
					switch status {
					case http.StatusOK:
						answered.Add(1)
					case http.StatusPaymentRequired:
						refused.Add(1)
					default:
						t.Errorf("status %d", status)
					}
					break
				}
			}
		})
	}
	killed := 0
	for n := range requests {
		work <- n
		if killed < kills && n == (killed+1)*k/(kills+1) {
			kill()
			killed++
			url, again := s.startProcess()
			kill = again
			address.Store(&url)
		}
	}
	close(work)
	wait.Wait()
	t.Logf("%d kills left %d requests without an answer", killed, unanswered.Load())
	if unanswered.Load() == 0 {
		t.Error("no request was in flight at any kill")
	}
	if answered.Load() != k || refused.Load() != requests-k {
		t.Errorf("%d answers and %d refusals, want %d and %d", answered.Load(), refused.Load(), k, requests-k)
	}
	want := fmt.Sprintf("%d %d 0", k, k)
	if got := s.query(`
		select count(*), count(distinct request_id), (select balance from keys)
		from ledger where kind = 'charge' and amount = -5000 and endpoint = '/picks'`)[0]; got != want {
		t.Errorf("charges, requests that have one, and balance: %s, want %s", got, want)
	}
}

// buy sends one request. id is also its Idempotency-Key. It returns the status of a complete response.
func (s *system) buy(client *http.Client, base, key, id string) (int, error) {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, base+"/api/v1/picks", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Idempotency-Key", id)
	r.Header.Set("X-Request-Id", id)
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}
