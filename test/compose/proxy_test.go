package compose

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark/deploy"
	"tidemark/test/program"
)

// The proxy keeps its connections to the APIs: with one for each request, it has no port left after some hundreds of requests a second.
func TestTheProxyKeepsItsConnections(t *testing.T) {
	t.Parallel()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("deploy/nginx.conf was not run, because nginx is not installed (on Debian: apt-get install nginx-light)")
	}
	var opened atomic.Int64
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-For"))
	}))
	api.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	api.Start()
	defer api.Close()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()

	dir := t.TempDir()
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(deploy.Nginx(dir, address, strings.TrimPrefix(api.URL, "http://"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), nginx, "-t", "-p", dir, "-c", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	proxy := exec.CommandContext(t.Context(), nginx, "-p", dir, "-c", file, "-g", "daemon off; master_process off;")
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = said.Close() }()
	proxy.Stderr = said
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = proxy.Wait() }()
	defer func() { _ = proxy.Process.Signal(os.Interrupt) }()
	const requests = 50
	program.Until(t, program.Timeout, "the proxy answers", func() (bool, string) {
		_, err := asked(t, address)
		return err == nil, fmt.Sprint(err)
	})
	for range requests {
		got, err := asked(t, address)
		if err != nil || got != "127.0.0.1" {
			out, _ := os.ReadFile(said.Name())
			t.Fatalf("%q, %v\n%s", got, err, out)
		}
	}
	if n := opened.Load(); n > 2 {
		t.Errorf("%d requests opened %d connections to the API", requests, n)
	}
}

// asked returns the answer of an address.
func asked(t *testing.T, address string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), err
}
