// Package pages is the HTML door to the views: pages rendered on the server, readable without a script and better with one, with nothing
// loaded from elsewhere. A page is a pure function of what the views hold and of an address; HTTP is api's. Start at Pages.Page and the
// table of pages in routes.go.
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

	"tidemark"
	"tidemark/api/view"
)

//go:embed templates/*.html static/*
var files embed.FS

// Options says what the pages show. A page is there where what it needs is.
type Options struct {
	// PublicURL is the address of the program, used where a page must name itself in full.
	PublicURL string
	// World is the database's: view.WorldLive, view.WorldReplay or view.WorldSandbox.
	World string
	View  *view.View
	// Record and Publications may be nil: then there are no pages about the record, and none about the picks.
	Record       *view.Record
	Publications *view.Publications
	// Described tells that there are descriptions for programs: /openapi.json, /llms.txt and their kin.
	Described bool
	// Agents tells that there is an MCP server at /api/mcp.
	Agents bool
	// Dashboard tells that keys can be managed at /dashboard.
	Dashboard bool
	// Free limits visitors to what is free, beside what their keys may see. Without it the pages show everything to everybody.
	Free bool
}

// Pages renders. It is safe for concurrent use.
type Pages struct {
	o         Options
	templates map[string]*template.Template
	// static is keyed by path, address by the name of the file: addresses change with the content.
	static  map[string]*view.Document
	address map[string]string
	// whole and below are the pages by their paths.
	whole, below map[string]page
	// pictures are the cards that were drawn.
	pictures pictures
	// changes are those of the changelog.
	changes []change
	// pickMethod is the rendered method of the picks.
	pickMethod template.HTML
	// done is what was rendered of one state.
	done atomic.Pointer[rendered]
}

// New parses the templates and the changelog.
func New(o Options) (*Pages, error) {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	p := &Pages{o: o, templates: map[string]*template.Template{}, static: map[string]*view.Document{}, address: map[string]string{}}
	p.whole, p.below = p.table()
	var err error
	if p.changes, err = readChangelog(tidemark.Changelog); err != nil {
		return nil, err
	}
	if p.pickMethod, err = methodOfPicks(); err != nil {
		return nil, err
	}
	if err := p.loadStatic(); err != nil {
		return nil, err
	}
	shared, err := template.New("layout.html").Funcs(functions).Funcs(template.FuncMap{"static": p.staticAddress}).
		ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse the layout of the pages: %w", err)
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("list the pages: %w", err)
	}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" { // every page has them
			continue
		}
		t, err := template.Must(shared.Clone()).ParseFS(files, file)
		if err != nil {
			return nil, fmt.Errorf("parse the page %s: %w", name, err)
		}
		p.templates[name] = t
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
		p.static[address] = view.NewDocument(mediaType(ext), view.CacheImmutable, body, time.Time{})
		if known := wellKnownIcons[e.Name()]; known != "" {
			p.static[known] = view.NewDocument(mediaType(ext), view.CachePublic, body, time.Time{})
		}
		p.address[e.Name()] = address
	}
	return nil
}

// wellKnownIcons are where browsers look for icons by themselves.
var wellKnownIcons = map[string]string{"icon.png": "/favicon.ico", "touch.png": "/apple-touch-icon.png"}

// mediaType is that of a static file. Scripts are not left to the machine's table, where some have another type.
func mediaType(ext string) string {
	if ext == ".js" {
		return "text/javascript; charset=utf-8"
	}
	return mime.TypeByExtension(ext)
}

// staticAddress is where a file of the folder static is served. A page that names one that is not there is a programmer's error.
func (p *Pages) staticAddress(name string) string {
	address, ok := p.address[name]
	if !ok {
		panic("there is no static file " + name)
	}
	return address
}

// Stylesheet is the sheet of all pages, for those that are served elsewhere.
func Stylesheet() []byte {
	body, err := files.ReadFile("static/style.css")
	if err != nil {
		panic(err) // it is embedded
	}
	return body
}

func (p *Pages) render(name string, l layout) []byte {
	var out bytes.Buffer
	if err := p.templates[name].ExecuteTemplate(&out, "layout.html", l); err != nil {
		panic(fmt.Errorf("render the page %s: %w", name, err)) // a template that does not fit its data is a programmer's error
	}
	return out.Bytes()
}

// document renders a page that everybody may keep for a while.
func (p *Pages) document(name string, l layout, modified time.Time) *view.Document {
	return secured(view.NewDocument(view.TypeHTML, view.CachePublic, p.render(name, l), modified), view.PagePolicy)
}

// secured gives an answer its content security policy.
func secured(doc *view.Document, policy string) *view.Document {
	doc.Identity.Header.Set("Content-Security-Policy", policy)
	if doc.Gzip.Body != nil {
		doc.Gzip.Header.Set("Content-Security-Policy", policy)
	}
	return doc
}

// embedJSON returns v as JSON that may stand inside a script element: json.Marshal escapes what could end it.
func embedJSON(v any) template.JS {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode a %T: %w", v, err)) // it was encoded before, for the API
	}
	return template.JS(b)
}
