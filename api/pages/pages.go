// Package pages is the HTML door to the views: plain pages rendered on the server, readable without a script, with nothing loaded
// from elsewhere. A page is a pure function of a state and a path; HTTP is api's. Start at Pages.Page.
package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/api/view"
)

//go:embed templates/*.html static/*
var files embed.FS

// Pages renders. It is safe for concurrent use.
type Pages struct {
	publicURL string
	templates map[string]*template.Template
	// static is keyed by path. The addresses of its style sheet and icon change with their content.
	static      map[string]*view.Document
	style, icon string
	// done is what was rendered of one state.
	done atomic.Pointer[rendered]
}

// New parses the templates. publicURL is the address of the program, used where a page must name itself in full.
func New(publicURL string) (*Pages, error) {
	p := &Pages{
		publicURL: strings.TrimRight(publicURL, "/"),
		templates: map[string]*template.Template{},
		static:    map[string]*view.Document{},
	}
	for _, name := range []string{"home", "signal", "brief", "problem", "error"} {
		t, err := template.New("layout.html").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("parse the page %s: %w", name, err)
		}
		p.templates[name] = t
	}
	if err := p.loadStatic(); err != nil {
		return nil, err
	}
	return p, nil
}

// loadStatic gives each file an address with its hash: style.css becomes /static/style.<hash>.css.
func (p *Pages) loadStatic() error {
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return fmt.Errorf("read the static files: %w", err)
	}
	for _, e := range entries {
		body, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			return fmt.Errorf("read the static files: %w", err)
		}
		sum := sha256.Sum256(body)
		ext := path.Ext(e.Name())
		address := "/static/" + strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		p.static[address] = view.NewDocument(mime.TypeByExtension(ext), view.CacheImmutable, body, time.Time{})
		switch e.Name() {
		case "style.css":
			p.style = address
		case "icon.svg":
			p.icon = address
		}
	}
	return nil
}

// layout is what layout.html shows around every page.
type layout struct {
	Title, Description string
	// Canonical is the address in full, Style and Icon those of the static files, JSON the same as data; empty: none.
	Canonical, Style, Icon, JSON string
	// JSONLD stands in the page as a data block. A browser does not run it, so the content security policy has no say in it.
	JSONLD template.JS
	// Banner warns of data that are not real; Disclaimer stands below.
	Banner, Disclaimer string
	Body               any
}

// layout returns the layout of a page about nothing in particular. st may be nil.
func (p *Pages) layout(st *view.State, address string) layout {
	l := layout{Canonical: p.publicURL + address, Style: p.style, Icon: p.icon}
	if st != nil {
		l.Disclaimer = st.Disclaimer
		l.Banner = banner(st.World)
	}
	return l
}

func banner(world string) string {
	switch world {
	case view.WorldSandbox:
		return "Synthetic data: this is a demonstration. No number here describes a real market."
	case view.WorldReplay:
		return "Replay of recorded data: this is a demonstration. The numbers are those of the recording, not of today."
	}
	return ""
}

func (p *Pages) render(name string, l layout) []byte {
	var out bytes.Buffer
	if err := p.templates[name].ExecuteTemplate(&out, "layout.html", l); err != nil {
		panic(fmt.Errorf("render the page %s: %w", name, err)) // a template that does not fit its data is a programmer's error
	}
	return out.Bytes()
}

func (p *Pages) document(name string, l layout, modified time.Time) *view.Document {
	return view.NewDocument(view.TypeHTML, view.CachePublic, p.render(name, l), modified)
}

// embedJSON returns v as JSON that may stand inside a script element: json.Marshal escapes what could end it.
func embedJSON(v any) template.JS {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode a %T: %w", v, err)) // it was encoded before, for the API
	}
	return template.JS(b)
}
