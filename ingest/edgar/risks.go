package edgar

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"tidemark/internal/equity"
)

// look is how a piece of text is set.
type look struct{ bold, italic, underline bool }

func (l look) plain() bool { return l == look{} }

// run is a piece of text of one look.
type run struct {
	text string
	look look
}

// block is a paragraph, a heading or a row of a table.
type block struct {
	text string
	runs []run
	row  bool
}

const (
	// minRisks is how many headings a section has that is divided by short ones. One that is a sentence is enough: minSentence words.
	minRisks    = 3
	minSentence = 6
	// longSection is how many words tell more than where to read. It also bounds the words between two short headings.
	longSection = 400
	// minParagraph is how many words a paragraph has that is listed in a section without headings.
	minParagraph = 20
	// maxHeading bounds a heading in words. A longer emphasised text is a warning or a summary.
	maxHeading = 130
	// maxRow bounds a row of a table whose cells are one line, in bytes. A longer one is a page that a table lays out.
	maxRow = 3000
	// maxDepth bounds how deep a document nests.
	maxDepth = 2000
)

// readRisks reads the section "Risk Factors" of a report's document.
func readRisks(body []byte, contentType string) (equity.RiskFactors, error) {
	text, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		return equity.RiskFactors{}, fmt.Errorf("want a page: %w", err)
	}
	page, err := html.Parse(text)
	if err != nil {
		return equity.RiskFactors{}, fmt.Errorf("want a page: %w", err)
	}
	r := reader{}
	r.node(page, look{}, false, 0)
	r.flush(false)
	section, ok := riskSection(withoutFurniture(r.blocks))
	if !ok {
		return equity.RiskFactors{State: equity.RisksNotFound}, nil
	}
	return section.risks(), nil
}

// reader divides a page into blocks.
type reader struct {
	blocks []block
	now    []run
}

var blockElements = map[string]bool{
	"address": true, "article": true, "blockquote": true, "body": true, "br": true, "center": true, "dd": true, "div": true, "dl": true, "dt": true,
	"footer": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "header": true, "hr": true, "li": true, "main": true,
	"ol": true, "p": true, "pre": true, "section": true, "table": true, "tr": true, "ul": true,
}

var (
	boldStyle      = regexp.MustCompile(`font-weight:\s*(bold|[6-9]00)`)
	lightStyle     = regexp.MustCompile(`font-weight:\s*(normal|[1-5]00)`)
	italicStyle    = regexp.MustCompile(`font-style:\s*(italic|oblique)`)
	uprightStyle   = regexp.MustCompile(`font-style:\s*normal`)
	underlineStyle = regexp.MustCompile(`text-decoration[a-z-]*:[^;]*underline`)
	hiddenStyle    = regexp.MustCompile(`display:\s*none`)
)

// node reads a node and those in it.
func (r *reader) node(n *html.Node, l look, inRow bool, depth int) {
	if depth > maxDepth {
		return
	}
	row := false
	switch n.Type {
	case html.TextNode:
		r.now = append(r.now, run{n.Data, l})
		return
	case html.ElementNode:
		switch n.Data {
		case "script", "style", "head", "ix:header", "title":
			return
		case "b", "strong", "h1", "h2", "h3", "h4", "h5", "h6":
			l.bold = true
		case "i", "em":
			l.italic = true
		case "u", "ins":
			l.underline = true
		case "td", "th":
			r.now = append(r.now, run{" ", l})
		}
		style := strings.ToLower(attribute(n, "style"))
		if hiddenStyle.MatchString(style) {
			return
		}
		l.bold = (l.bold || boldStyle.MatchString(style)) && !lightStyle.MatchString(style)
		l.italic = (l.italic || italicStyle.MatchString(style)) && !uprightStyle.MatchString(style)
		l.underline = l.underline || underlineStyle.MatchString(style)
		row = n.Data == "tr" && textLength(n) <= maxRow
	}
	breaks := n.Type == html.ElementNode && blockElements[n.Data]
	switch {
	case breaks && inRow:
		r.now = append(r.now, run{" ", l})
	case breaks:
		r.flush(false)
	}
	for c := range n.ChildNodes() {
		r.node(c, l, inRow || row, depth+1)
	}
	if breaks && !inRow {
		r.flush(row)
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textLength is the number of bytes of text in a node.
func textLength(n *html.Node) (length int) {
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			length += len(c.Data)
		}
	}
	return length
}

// flush ends the block that is being read.
func (r *reader) flush(row bool) {
	b := block{runs: r.now, row: row}
	r.now = nil
	var text strings.Builder
	for _, p := range b.runs {
		text.WriteString(p.text)
	}
	if b.text = oneLine(text.String()); b.text != "" {
		r.blocks = append(r.blocks, b)
	}
}

var typography = strings.NewReplacer("\u00a0", " ", "\u200b", "", "\x00", "", "\ufeff", "", "\u2018", "'", "\u2019", "'", "\u201c", `"`, "\u201d", `"`)

// oneLine is a text with single blanks and plain quotation marks.
func oneLine(text string) string {
	return strings.Join(strings.Fields(typography.Replace(strings.ToValidUTF8(text, ""))), " ")
}

// lead is the emphasised text at the beginning of a block, and what follows it. Marks of lists before it do not count.
func (b block) lead() (heading string, l look, rest string) {
	var head, tail strings.Builder
	begun, ended := false, false
	for _, p := range b.runs {
		switch letters := strings.ContainsFunc(p.text, unicode.IsLetter); {
		case ended:
		case !letters:
		case p.look.plain():
			ended = true
		case !begun:
			begun, l = true, p.look
		}
		if ended {
			tail.WriteString(p.text)
		} else {
			head.WriteString(p.text)
		}
	}
	return strings.TrimLeft(oneLine(head.String()), "•·▪■●◦*-–— "), l, oneLine(tail.String())
}

// withoutFurniture leaves out numbers of pages, and short lines that come again and again at the edges of pages.
func withoutFurniture(blocks []block) []block {
	seen := map[string]int{}
	key := func(b block) string {
		return strings.TrimFunc(strings.ToLower(b.text), func(r rune) bool { return !unicode.IsLetter(r) })
	}
	for _, b := range blocks {
		seen[key(b)]++
	}
	return slices.DeleteFunc(blocks, func(b block) bool {
		k := key(b)
		return k == "" || k == "table of contents" || k == "index" || seen[k] >= 5 && len(strings.Fields(k)) < 12 && !startsRisks.MatchString(b.text)
	})
}

var (
	// startsRisks is the heading of the section. A text may follow on the same line.
	startsRisks = regexp.MustCompile(`(?i)^(?:part\s*ii?\b[\s,.:;–—-]*)?(?:other information[\s,.:;–—-]*)?item\s*1\s*a\b[\s.,:;)|–—-]*(risk\s*factors)?[\s.,:;|–—-]*(.*)$`)
	// titled is its second half on a line of its own, or all of it in reports that do not number their items.
	titled = regexp.MustCompile(`(?i)^risk\s*factors[\s.:]*$`)
	// ends is the heading of any other section.
	ends = regexp.MustCompile(`(?i)^(?:part\s*(?:i{1,3}|iv)\b[\s,.:;–—-]*)?item\s*(?:1\s*[bc]|[2-9]|1[0-6])\s*[a-c]?\b`)
	// endTitles are titles of sections that follow, in reports that do not number their items.
	endTitles = regexp.MustCompile(`(?i)^(?:unresolved staff comments|cybersecurity|(?:description of )?propert(?:y|ies)|legal proceedings|signatures?|` +
		`unregistered sales? of equity securities.{0,60}|part\s*(?:ii|iii|iv))[\s.:]*$`)
	unchanged = regexp.MustCompile(`(?i)\b(?:no|not|nor|neither|without)\b[^.]{0,60}?\bmaterial(?:ly)?\b[^.]{0,80}?\b(?:chang|updat|addition|modif|differ)|` +
		`\b(?:no|not|nor)\b[^.]{0,60}?\b(?:chang\w*|updat\w*|differ\w*)[^.]{0,60}?\bmaterial|\bno changes?\b|\bhave not changed\b`)
	// excepted says that something changed.
	excepted = regexp.MustCompile(`(?i)\b(?:(?:other than|except (?:as|for|that)|with the exception|supplement(?:s|ed)?)[^.]{0,80}\b(?:below|following|set forth|herein|updated?)|following risk|risks? (?:update|amend|supplement))`)
	omitted  = regexp.MustCompile(`(?i)smaller reporting compan(?:y|ies)|\bnot (?:required|applicable)\b`)
	// elsewhere refers to another document or section.
	elsewhere = regexp.MustCompile(`(?i)(?:refer|see|found|discuss|describ|incorporat|consider|set forth|include|including|contain)[^.]{0,200}(?:10-K|annual report|"?risk factors|item 1A|item 1\b)`)
	// preamble is the title of a part of the section that is not about risks.
	preamble = regexp.MustCompile(`(?i)forward-looking|^(?:summary(?: of)? )?risk factors?(?: summary)?$|^(?:introduction|overview|general)$|` +
		`\bfollowing (?:risks?|risk factors|factors)\b.*(?:\bshould be considered\b|\bcould\b|\bcarefully\b)|\bcarefully consider\b`)
)

// section is the content of a section.
type section []block

func (s section) words() (n int) {
	for _, b := range s {
		n += len(strings.Fields(b.text))
	}
	return n
}

// riskSection finds the longest section with the heading of item 1A. A table of contents has the same headings, and little between them.
func riskSection(blocks []block) (longest section, found bool) {
	for i := range blocks {
		from, first, numbered := begins(blocks, i)
		if from == 0 {
			continue
		}
		to, ended := from, false
		for ; to < len(blocks) && !ended; to++ {
			b := blocks[to]
			ended = len(b.text) < 200 && ends.MatchString(b.text) || endTitles.MatchString(b.text) && (!numbered || b.emphasised())
		}
		if !ended { // a section without an end could be anything
			continue
		}
		s := section(blocks[from : to-1])
		if first.text != "" {
			s = append(section{first}, s...)
		}
		if n := s.words(); n > 0 && (!found || n > longest.words()) {
			longest, found = s, true
		}
	}
	return longest, found
}

// begins reports where the content of the section begins if a block is its heading, zero if it is not. The heading's line may have the
// beginning of the content, which is first.
func begins(blocks []block, i int) (from int, first block, numbered bool) {
	b := blocks[i]
	if titled.MatchString(b.text) && b.emphasised() {
		return i + 1, block{}, false
	}
	m := startsRisks.FindStringSubmatch(b.text)
	if m == nil {
		return 0, block{}, false
	}
	title, rest := m[1], m[2]
	next := i + 1
	if title == "" {
		switch {
		case rest == "" && next < len(blocks) && titled.MatchString(blocks[next].text):
			next++
		default:
			return 0, block{}, false
		}
	}
	switch {
	case len(rest) <= 20 || strings.HasPrefix(rest, "("):
		return next, block{}, true
	case unicode.IsUpper([]rune(rest)[0]):
		return next, block{text: rest, runs: []run{{rest, look{}}}}, true
	}
	return 0, block{}, false // a sentence that begins with a reference to the section
}

// emphasised reports whether all of a block stands out.
func (b block) emphasised() bool {
	head, _, rest := b.lead()
	return head != "" && !strings.ContainsFunc(rest, unicode.IsLetter) || b.text == strings.ToUpper(b.text) && len(strings.Fields(b.text)) < maxHeading
}

// risks divides a section into risks.
func (s section) risks() equity.RiskFactors {
	r := equity.RiskFactors{State: equity.RisksRead, Words: s.words(), Risks: s.headings()}
	sentences := 0
	for _, h := range r.Risks {
		if len(strings.Fields(h)) >= minSentence {
			sentences++
		}
	}
	if r.Words < longSection && sentences == 0 {
		var all strings.Builder
		for _, b := range s {
			all.WriteString(b.text + " ")
		}
		if state := withoutRisks(all.String()); state != equity.RisksRead {
			return equity.RiskFactors{State: state, Words: r.Words}
		}
	}
	// Titles of groups alone do not tell the risks.
	if sentences == 0 && (len(r.Risks) < minRisks || r.Words/len(r.Risks) > longSection) {
		r.Risks, r.ByParagraph = s.paragraphs(), true
	}
	if len(r.Risks) == 0 {
		return equity.RiskFactors{State: equity.RisksNotFound}
	}
	return r
}

// withoutRisks is the text of a short section without headings.
func withoutRisks(text string) equity.RiskState {
	switch {
	case excepted.MatchString(text):
		return equity.RisksRead
	case unchanged.MatchString(text):
		return equity.RisksUnchanged
	case omitted.MatchString(text):
		return equity.RisksOmitted
	case elsewhere.MatchString(text):
		return equity.RisksElsewhere
	}
	return equity.RisksRead
}

// headings lists the emphasised texts that a text follows: on the same line or on the next. An emphasised line that another follows is
// the title of a group of risks, unless both are parts of one sentence.
func (s section) headings() []string {
	var list []string
	s = s.joined()
	for i, b := range s {
		head, _, rest := b.lead()
		words := len(strings.Fields(head))
		switch {
		case b.row && rest == "" && words < 4, words == 0, words > maxHeading, preamble.MatchString(head):
		case strings.ContainsFunc(rest, unicode.IsLetter):
			if h := b.runIn(); h != "" {
				list = append(list, h)
			}
		case i+1 < len(s) && !s[i+1].standsOut() && (words >= minSentence || s[i+1].runIn() == ""):
			list = append(list, b.text)
		case words >= 12: // the next risk follows at once, or the section ends
			list = append(list, b.text)
		}
	}
	return distinct(list)
}

// runIn is the heading at the beginning of a paragraph, empty if it has none: emphasised words that are a sentence or end in a colon.
func (b block) runIn() string {
	head, _, rest := b.lead()
	words := len(strings.Fields(head))
	if strings.ContainsFunc(rest, unicode.IsLetter) && words <= maxHeading &&
		(words >= 4 && (endsSentence(head) || strings.ContainsRune("-–—:", []rune(rest)[0])) || words >= 2 && strings.HasSuffix(head, ":")) {
		return head
	}
	return ""
}

// endsSentence reports whether a text ends in a mark, or in a dash before what follows.
func endsSentence(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".:?!-–—", last)
}

// standsOut reports whether a block begins with a heading of its own line.
func (b block) standsOut() bool {
	head, _, rest := b.lead()
	return head != "" && !strings.ContainsFunc(rest, unicode.IsLetter)
}

// joined puts together headings that a page or a line break divides.
func (s section) joined() section {
	var out section
	for _, b := range s {
		if n := len(out); n > 0 && b.standsOut() && out[n-1].standsOut() {
			last := out[n-1].text
			if first := []rune(b.text)[0]; unicode.IsLower(first) && !endsSentence(last) {
				out[n-1] = block{text: last + " " + b.text, runs: slices.Concat(out[n-1].runs, []run{{" ", out[n-1].runs[0].look}}, b.runs)}
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

// paragraphs lists the paragraphs of a section without headings.
func (s section) paragraphs() []string {
	var list []string
	for _, b := range s {
		if len(strings.Fields(b.text)) >= minParagraph {
			list = append(list, b.text)
		}
	}
	return distinct(list)
}

func distinct(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		had := seen[s]
		seen[s] = true
		return had
	})
}
