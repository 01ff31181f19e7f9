package mcp

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark/api/view"
)

// mcpPath is the path of the MCP server.
const mcpPath = "/api/mcp"

// registryEntry describes the server to the MCP registry (server.json of 2025-12-11).
type registryEntry struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	WebsiteURL  string   `json:"websiteUrl"`
	Remotes     []remote `json:"remotes"`
}

type remote struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// serverCard describes the server to clients that look below /.well-known before they connect. No standard for it exists yet. It has the
// members of the registry's form and of the proposals for a server card.
type serverCard struct {
	registryEntry
	ProtocolVersions []string            `json:"protocolVersions"`
	ServerInfo       serverInfo          `json:"serverInfo"`
	Transport        transport           `json:"transport"`
	Authentication   authentication      `json:"authentication"`
	Capabilities     map[string]struct{} `json:"capabilities"`
	Tools            []toolName          `json:"tools"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type transport struct {
	Type     string `json:"type"`
	Endpoint string `json:"endpoint"`
}

type authentication struct {
	Required bool `json:"required"`
}

type toolName struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

const streamableHTTP = "streamable-http"

func (d *Server) describe() error {
	u, err := url.Parse(d.base)
	if err != nil {
		return fmt.Errorf("read the public address: %w", err)
	}
	entry := registryEntry{
		Schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", Name: reversed(u.Hostname()) + "/tidemark",
		Title: product, Description: "Market signals, one verifiable stock pick per business day, and its hash chain. Free, read-only.",
		Version: d.version(), WebsiteURL: d.base, Remotes: []remote{{streamableHTTP, d.base + mcpPath}},
	}
	card := serverCard{
		registryEntry: entry, ProtocolVersions: mcp.SupportedProtocolVersions(), ServerInfo: serverInfo{name, product, entry.Version},
		Transport: transport{streamableHTTP, mcpPath}, Capabilities: map[string]struct{}{"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
	}
	for _, t := range tools {
		card.Tools = append(card.Tools, toolName{t.name, t.title, t.description})
	}
	for _, out := range []struct {
		doc  **view.Document
		body any
	}{{&d.serverJSON, entry}, {&d.card, card}} {
		body, err := view.Encode(out.body)
		if err != nil {
			return err
		}
		*out.doc = view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{})
	}
	return nil
}

// version returns the program's version in the registry's form: semantic versioning.
func (d *Server) version() string {
	if v := strings.TrimPrefix(d.o.Version, "v"); v != "" && v[0] >= '0' && v[0] <= '9' {
		return v
	}
	return "0.0.0-" + d.o.Version
}

// reversed returns a host in the registry's form for an owner: the labels of its name in reverse order. An IP address has no owner there.
func reversed(host string) string {
	if net.ParseIP(host) != nil || !strings.Contains(host, ".") {
		return "localhost"
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
