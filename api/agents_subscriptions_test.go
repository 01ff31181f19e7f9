package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark/api"
)

// An agent that subscribes to a signal is told of its next snapshot, and reads the new value then.
func TestAgentsAreToldWhatChanged(t *testing.T) {
	t.Parallel()
	a := openToAgents(t, api.AgentOptions{})
	a.run(a.door.Run)
	told := make(chan string, 100)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { told <- r.Params.URI },
	})
	s, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: a.url + "/api/mcp", MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if r := s.InitializeResult().Capabilities.Resources; r == nil || !r.Subscribe {
		t.Fatalf("the server does not say that it tells of changes: %+v", r)
	}
	uri := a.base + crack
	if err := s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	// The subscription begins while the client goes on: snapshots are saved until it is told of one.
	value, next := 30.0, full()
	a.eventually("the agent is told", func() bool {
		value++
		next.At, next.Value = next.At.Add(time.Second), new(value)
		a.save(next)
		a.eventually("the snapshot is served", func() bool { return *a.view.State().Signal("crack-spread-321").Snapshot.Value == value })
		select {
		case got := <-told:
			if got != uri {
				t.Errorf("told of %s, subscribed to %s", got, uri)
			}
			return true
		case <-time.After(100 * time.Millisecond):
			return false
		}
	})
	read, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || !strings.Contains(read.Contents[0].Text, fmt.Sprintf(`"value":%v`, value)) {
		t.Errorf("after that the resource is %v, %v; want the value %v", read, err, value)
	}
}

// listen opens a stream of changes by hand.
func (a *agents) listen(ctx context.Context, uri string) *http.Response {
	a.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}},"notifications":{"resourceSubscriptions":["` + uri + `"]}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/api/mcp", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp
}

// first reads the first event of a stream.
func first(t *testing.T, resp *http.Response) string {
	t.Helper()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return data
		}
	}
	t.Fatalf("a stream without an event: %s", resp.Status)
	return ""
}

// A stream is for known resources, an address has a few of them, and all end with the program.
func TestStreamsOfAgentsAreBounded(t *testing.T) {
	t.Parallel()
	a := openToAgents(t, api.AgentOptions{})
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- a.door.Run(ctx) }()
	unknown := a.listen(t.Context(), a.base+"/api/signals/brent")
	if unknown.StatusCode < 400 {
		t.Errorf("a subscription to an unknown resource: %s", unknown.Status)
	}
	_ = unknown.Body.Close()
	var open []io.ReadCloser
	for {
		resp := a.listen(t.Context(), a.base+crack)
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode == http.StatusTooManyRequests {
			if resp.Header.Get("Retry-After") == "" {
				t.Error("a refused stream does not say when to try again")
			}
			break
		}
		if said := first(t, resp); !strings.Contains(said, "notifications/subscriptions/acknowledged") || !strings.Contains(said, a.base+crack) {
			t.Fatalf("a stream begins with %s", said)
		}
		if open = append(open, resp.Body); len(open) > 100 {
			t.Fatal("one address has more than 100 streams")
		}
	}
	if len(open) == 0 {
		t.Fatal("no stream was opened")
	}
	_ = open[0].Close()
	a.eventually("there is room again", func() bool {
		resp := a.listen(t.Context(), a.base+crack)
		defer func() { _ = resp.Body.Close() }()
		return resp.StatusCode == http.StatusOK
	})
	stop()
	if err := <-ran; err != nil {
		t.Errorf("it ended with %v", err)
	}
	for lines := bufio.NewScanner(open[1]); lines.Scan(); { // to the end of the stream
	}
}
