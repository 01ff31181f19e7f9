package api_test

import (
	"strings"
	"testing"

	"tidemark/api"
)

// A tool with a page names it, and the page is one document that asks no network. Without the script that judges a chain there is no verifier.
func TestAgentsGetPagesForHosts(t *testing.T) {
	t.Parallel()
	a := openToAgents(t, api.AgentOptions{})
	pages := map[string]string{}
	for _, tool := range a.result("tools/list", nil)["tools"].([]any) {
		tool := tool.(map[string]any)
		if meta, ok := tool["_meta"].(map[string]any); ok {
			uri := meta["ui"].(map[string]any)["resourceUri"].(string)
			if meta["ui/resourceUri"] != uri { // the key of older hosts
				t.Errorf("%s: %v", tool["name"], meta)
			}
			pages[tool["name"].(string)] = uri
		}
	}
	if len(pages) != 1 || pages["get_signal_history"] == "" {
		t.Fatalf("pages of tools: %v, want that of get_signal_history alone: this server has no verifier", pages)
	}
	for _, r := range a.result("resources/list", nil)["resources"].([]any) {
		if uri := r.(map[string]any)["uri"].(string); strings.HasPrefix(uri, "ui://") && uri != pages["get_signal_history"] {
			t.Errorf("the page %s belongs to no tool", uri)
		}
	}
	content := a.result("resources/read", map[string]any{"uri": pages["get_signal_history"]})["contents"].([]any)[0].(map[string]any)
	text := content["text"].(string)
	if content["mimeType"] != "text/html;profile=mcp-app" || content["_meta"].(map[string]any)["ui"] == nil || !strings.HasPrefix(text, "<!doctype html>") {
		t.Errorf("the page is %v: %.60s", content["mimeType"], text)
	}
	for _, address := range []string{"src=", "href=", "fetch(", "import(", "http://127", "https://"} {
		if strings.Contains(text, address) {
			t.Errorf("the page has %s, and its host grants no network", address)
		}
	}
}
