package mcp

import (
	"context"
	_ "embed"
	"html"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The pages of MCP Apps, which hosts show beside the result of a tool. A page is one document without addresses: it asks no network, and
// gets the result from the host.
//
//go:embed apps/host.js
var appHost string

//go:embed apps/app.css
var appStyle string

//go:embed apps/plot.js
var plotScript string

//go:embed apps/verifier.js
var verifierScript string

const (
	// appType is the media type of a page for hosts of MCP Apps.
	appType = "text/html;profile=mcp-app"
	// plotURI and verifierURI name the pages.
	plotURI, verifierURI = "ui://tidemark/plot", "ui://tidemark/verifier"
)

// app is a page.
type app struct{ uri, name, title, description, script string }

// apps returns the pages. verdict is the script that judges a chain.
func apps(verdict string) []app {
	list := []app{{plotURI, "plot", "Plot of a signal", "Shows the answer of get_signal_history: values, intervals and baseline.", plotScript}}
	if verdict != "" {
		list = append(list, app{
			verifierURI, "verifier", "Verifier of the chain", "Recomputes the answer of get_verification_chain in the host's frame.", verdict + verifierScript,
		})
	}
	return list
}

// addApps adds the pages as resources.
func addApps(s *mcp.Server, list []app) {
	for _, a := range list {
		meta := mcp.Meta{"ui": map[string]any{"csp": map[string]any{}, "prefersBorder": true}}
		page := a.page()
		s.AddResource(&mcp.Resource{
			URI: a.uri, Name: a.name, Title: a.title, Description: a.description, MIMEType: appType, Meta: meta,
		}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: a.uri, MIMEType: appType, Text: page, Meta: meta}}}, nil
		})
	}
}

// page returns the document.
func (a app) page() string {
	return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>` + html.EscapeString(a.title) + `</title>` +
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">` +
		`<style>` + appStyle + `</style></head><body><main><p role="status">` + waiting + `</p></main><script type="module">` +
		strings.Join([]string{appHost, a.script}, "\n") + `</script></body></html>`
}

const waiting = "Waiting for the host."

// appMeta returns the metadata of a tool whose answer a page shows, under today's key and under the key of older hosts.
func appMeta(uri string) mcp.Meta {
	if uri == "" {
		return nil
	}
	return mcp.Meta{"ui": map[string]any{"resourceUri": uri}, "ui/resourceUri": uri}
}
