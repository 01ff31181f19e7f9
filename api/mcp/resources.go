package mcp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark/api/view"
)

// The URI of a resource is the URL of the same bytes, so that an agent can also fetch it over HTTP. These are the paths below the program's
// base URL.
const (
	signalsPath = "/api/signals"
	briefSuffix = "/brief"
	chainPath   = "/api/v1/verify/picks"
	pickPath    = "/api/v1/verify/pick/"
)

func (d *Server) addResources(s *mcp.Server) {
	json, markdown := view.TypeJSON, "text/markdown"
	s.AddResource(&mcp.Resource{
		URI: d.base + signalsPath, Name: "signals", Title: "Catalog of the market signals", MIMEType: json,
		Description: "The live signals with their newest value and z-score, license and source.",
	}, d.read(d.catalog))
	for _, def := range d.o.Definitions {
		s.AddResource(&mcp.Resource{
			URI: d.base + signalsPath + "/" + def.ID, Name: def.ID, Title: def.Name, MIMEType: json,
			Description: def.Description + " The newest snapshot, in " + def.Unit + ": value, interval with what it bounds and whether that was measured or is assumed, baseline, z-score, backtest, provenance and a JSON-LD description.",
		}, d.read(d.signal))
	}
	s.AddResource(&mcp.Resource{
		URI: d.base + chainPath, Name: "verification-chain", Title: "Hash chain of the picks", MIMEType: json,
		Description: "All announced picks with their hashes, and where the git ledger and the attestations are: what get_verification_chain answers, whole. It grows by some 100 KB a year.",
	}, d.read(d.chain))
	for _, t := range []struct {
		path, name, title, description, mime string
		read                                 func(path string) (*content, error)
	}{
		{signalsPath + "/{id}", "signal", "Snapshot of a signal", "The newest snapshot of one market signal by its id.", json, d.signal},
		{signalsPath + "/{id}" + briefSuffix, "signal-brief", "Method of a signal", "How a signal is made, what it is good for and where it fails.", markdown, d.brief},
		{pickPath + "{ticker}", "pick-verification", "Verification of a pick", "What verify_pick answers about the newest pick of a ticker.", json, d.pick},
	} {
		s.AddResourceTemplate(&mcp.ResourceTemplate{
			URITemplate: d.base + t.path, Name: t.name, Title: t.title, Description: t.description, MIMEType: t.mime,
		}, d.read(t.read))
	}
}

// content is the content of an address. It is nil if the address does not exist.
type content struct{ mediaType, text string }

// contentOf returns a finished document as content.
func contentOf(doc *view.Document) *content {
	var body strings.Builder
	_, _ = body.Write(doc.Identity.Body)
	for _, part := range doc.Identity.Tail {
		_, _ = body.Write(part)
	}
	mediaType, _, _ := strings.Cut(doc.Identity.Header.Get("Content-Type"), ";")
	return &content{mediaType, body.String()}
}

// read returns a handler that uses find to look up the content at a path.
func (d *Server) read(find func(path string) (*content, error)) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		path, err := url.PathUnescape(strings.TrimPrefix(uri, d.base))
		if err != nil {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		c, err := find(path)
		if told := userError(""); errors.As(err, &told) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: string(told)}
		}
		if err != nil {
			return nil, err
		}
		if c == nil {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: c.mediaType, Text: c.text}}}, nil
	}
}

// signals returns the current signals, or a userError while nothing is loaded yet.
func (d *Server) signals() (*view.State, error) {
	if st := d.o.View.State(); st != nil {
		return st, nil
	}
	return nil, userErrorf("The signals are being loaded: ask again in a few seconds.")
}

func (d *Server) catalog(string) (*content, error) {
	st, err := d.signals()
	if err != nil {
		return nil, err
	}
	return contentOf(st.Catalog), nil
}

func (d *Server) signal(path string) (*content, error) {
	st, err := d.signals()
	if err != nil {
		return nil, err
	}
	if s := st.Signal(strings.TrimPrefix(path, signalsPath+"/")); s != nil {
		return contentOf(s.JSON), nil
	}
	return nil, nil
}

func (d *Server) brief(path string) (*content, error) {
	st, err := d.signals()
	if err != nil {
		return nil, err
	}
	if s := st.Signal(strings.TrimSuffix(strings.TrimPrefix(path, signalsPath+"/"), briefSuffix)); s != nil {
		return contentOf(s.Brief), nil
	}
	return nil, nil
}

func (d *Server) chain(string) (*content, error) {
	st, err := d.record()
	if err != nil {
		return nil, err
	}
	return contentOf(st.Whole()), nil
}

func (d *Server) pick(path string) (*content, error) {
	st, err := d.record()
	if err != nil {
		return nil, err
	}
	v, ok := st.Pick(strings.ToUpper(strings.TrimPrefix(path, pickPath)), "")
	if !ok {
		return nil, nil
	}
	body, err := view.Encode(v)
	if err != nil {
		return nil, err
	}
	return &content{view.TypeJSON, string(body)}, nil
}
