// Package pages renders the HTML pages of the views on the server. They work without a script, are better with one, and load nothing from
// other sites. A page is a pure function of the views' data and of an address. HTTP belongs to package api. Start at Pages.Page and the
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
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

//go:embed templates/*.html static/*
var files embed.FS

// Options configure the pages. A page exists if the data that it needs are configured.
type Options struct {
	// PublicURL is the base URL of the program, for absolute URLs in pages.
	PublicURL string
	// World is the world of the database: view.WorldLive, view.WorldReplay or view.WorldSandbox.
	World string
	View  *view.View
	// Announce is the clock time in New York at which the pick of a day becomes public. Zero means calendar.AnnouncementClock.
	Announce time.Duration
	// Record and Publications may be nil. Then the pages about the record or about the picks do not exist.
	Record       *view.Record
	Publications *view.Publications
	// Described reports whether descriptions for programs exist: /openapi.json, /llms.txt and similar.
	Described bool
	// Agents reports whether an MCP server exists at /api/mcp.
	Agents bool
	// Dashboard reports whether keys can be managed at /dashboard.
	Dashboard bool
	// Pushed reports whether what becomes known is served as a feed at /api/stream/atom.
	Pushed bool
	// Datasets reports whether the daily data sets are served at /data/.
	Datasets bool
	// Free limits visitors to free data and to the data that their keys may see. Without it the pages show everything to all visitors.
	Free bool
}

// Pages renders the pages. It is safe for concurrent use.
type Pages struct {
	o Options
	*material
	// whole and below are the pages by their paths.
	whole, below map[string]page
	// pictures caches the cards.
	pictures pictures
	// done caches the pages rendered from one state.
	done atomic.Pointer[rendered]
}

// material is what the embedded files make, and no option changes.
type material struct {
	templates map[string]*template.Template
	// static is keyed by path. address is keyed by file name: the path of a file changes with its content.
	static  map[string]*view.Document
	address map[string]string
	// changes are the entries of the changelog.
	changes []change
	// pickMethod is the rendered method of the picks.
	pickMethod template.HTML
}

// New returns pages for the options. The first call parses the templates and the changelog.
func New(o Options) (*Pages, error) {
	m, err := prepared()
	if err != nil {
		return nil, err
	}
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	p := &Pages{o: o, material: m}
	p.whole, p.below = p.table()
	return p, nil
}

// prepared makes the material once. All pages of a process share it.
var prepared = sync.OnceValues(func() (*material, error) {
	m := &material{templates: map[string]*template.Template{}, static: map[string]*view.Document{}, address: map[string]string{}}
	var err error
	if m.changes, err = readChangelog(tidemark.Changelog); err != nil {
		return nil, err
	}
	if m.pickMethod, err = methodOfPicks(); err != nil {
		return nil, err
	}
	if err := m.loadStatic(); err != nil {
		return nil, err
	}
	shared, err := template.New("layout.html").Funcs(functions).Funcs(template.FuncMap{"static": m.staticAddress}).
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
		if name == "layout" || name == "parts" { // every page includes them
			continue
		}
		t, err := template.Must(shared.Clone()).ParseFS(files, file)
		if err != nil {
			return nil, fmt.Errorf("parse the page %s: %w", name, err)
		}
		m.templates[name] = t
	}
	return m, nil
})

// loadStatic gives each file a path with its hash: style.css becomes /static/style.<hash>.css.
func (m *material) loadStatic() error {
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return fmt.Errorf("read the static files: %w", err)
	}
	for _, e := range entries {
		body, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			return fmt.Errorf("read the static files: %w", err)
		}
		ext := path.Ext(e.Name())
		if ext == ".css" {
			body = styleFiller.ReplaceAll(body, []byte("$1$2"))
		}
		if e.Name() == "plot.js" { // the home page carries it; scripts that verify stay as their readers check them
			body = scriptFiller.ReplaceAll(body, nil)
		}
		sum := sha256.Sum256(body)
		address := "/static/" + strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		m.static[address] = view.NewDocument(mediaType(ext), view.CacheImmutable, body, time.Time{})
		if known := wellKnownIcons[e.Name()]; known != "" {
			m.static[known] = view.NewDocument(mediaType(ext), view.CachePublic, body, time.Time{})
		}
		m.address[e.Name()] = address
	}
	return nil
}

// styleFiller matches the parts of a style sheet that only its authors need: comments, and spaces around braces and semicolons and after the
// colon of a property. Every page carries the sheet, and a browser needs none of them.
var styleFiller = regexp.MustCompile(`(?s)\s*/\*.*?\*/|\s*([{};])\s*|([a-z-]:) `)

// scriptFiller matches the indentation of a script and its lines of comment. No text of a script goes on in another line.
var scriptFiller = regexp.MustCompile(`(?m)^[ \t]*(?://.*\n)?`)

// wellKnownIcons are the paths at which browsers look for icons without being told.
var wellKnownIcons = map[string]string{"icon.png": "/favicon.ico", "touch.png": "/apple-touch-icon.png"}

// mediaType returns the media type of a static file. Scripts have a fixed type, because some machines' tables are wrong.
func mediaType(ext string) string {
	if ext == ".js" {
		return "text/javascript; charset=utf-8"
	}
	return mime.TypeByExtension(ext)
}

// staticAddress returns the path of a file in the folder static. It panics if the file does not exist, because that is a bug.
func (m *material) staticAddress(name string) string {
	address, ok := m.address[name]
	if !ok {
		panic("there is no static file " + name)
	}
	return address
}

// exported matches the keyword before what a script gives to others, and asked the texts that it asks for.
var (
	exported = regexp.MustCompile(`(?m)^export `)
	asked    = regexp.MustCompile(`\bsay\("([^"]+)"`)
)

// VerdictScript returns the script with which the page /verify judges a chain, with its English texts, for pages that are served elsewhere.
// It declares only the constant verdicts, whose members are judge and recompute.
func VerdictScript() string {
	body, err := files.ReadFile("static/verdict.js")
	if err != nil {
		panic(err) // it is embedded
	}
	words := map[string]string{}
	for _, m := range asked.FindAllSubmatch(body, -1) {
		words[string(m[1])] = languages.Or(picks.English).Words[scriptWords+string(m[1])]
	}
	return "const verdicts = (() => {\n" + exported.ReplaceAllString(string(body), "") +
		"const words = " + string(embedJSON(words)) + ";\n" +
		"speak((id, ...values) => { let next = 0; return words[id].replace(/%(?:\\[(\\d)\\])?s/g, (_, place) => values[place ? place - 1 : next++]); });\n" +
		"return { judge, recompute };\n})();\n"
}

// Stylesheet returns the style sheet of all pages, for pages that are served elsewhere.
func Stylesheet() []byte { return embedded("style.css") }

// Icon returns the icon of all pages as a PNG image, for pages that are served elsewhere.
func Icon() []byte { return embedded("icon.png") }

func embedded(name string) []byte {
	body, err := files.ReadFile("static/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return body
}

func (p *Pages) render(name string, l layout) []byte {
	var out bytes.Buffer
	if err := p.templates[name].ExecuteTemplate(&out, "layout.html", l); err != nil {
		panic(fmt.Errorf("render the page %s: %w", name, err)) // a template that does not match its data is a bug
	}
	return out.Bytes()
}

// document renders a page that public caches may store for a while.
func (p *Pages) document(name string, l layout, modified time.Time) *view.Document {
	return secured(view.NewDocument(view.TypeHTML, view.CachePublic, p.render(name, l), modified), view.PagePolicy)
}

// secured sets the content security policy of a document.
func secured(doc *view.Document, policy string) *view.Document {
	doc.Identity.Header.Set("Content-Security-Policy", policy)
	if doc.Gzip.Body != nil {
		doc.Gzip.Header.Set("Content-Security-Policy", policy)
	}
	return doc
}

// embedJSON returns v as JSON that is safe inside a script element: json.Marshal escapes everything that could end it.
func embedJSON(v any) template.JS {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode a %T: %w", v, err)) // the API has encoded it before
	}
	return template.JS(b)
}
