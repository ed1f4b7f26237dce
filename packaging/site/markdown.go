package site

import (
	"html"
	"regexp"
	"strings"
)

// A renderer turns one page of Markdown into HTML: headings, paragraphs, lists, tables, quotations, fenced code,
// images, links and emphasis, which is all that docs/ uses. HTML in a page is shown as text, but for a named place
// on a line of its own: `<a id="once"></a>`.
type renderer struct {
	link func(to string) string // returns a link's address on the site
	out  strings.Builder
	toc  []heading
	ids  map[string]bool
}

// A heading is a place of a page that links can name.
type heading struct {
	Level    int
	ID, Text string
}

// render returns the page's HTML.
func (r *renderer) render(src string) string {
	r.ids = map[string]bool{}
	r.blocks(strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n"))
	return r.out.String()
}

var (
	anchorLine  = regexp.MustCompile(`^<a id="([a-z0-9-]+)"></a>$`)
	headingLine = regexp.MustCompile(`^(#{1,6}) +(.*?) *#*$`)
	itemLine    = regexp.MustCompile(`^( *)([-*+]|\d+[.)]) +(.*)$`)
	tableRule   = regexp.MustCompile(`^ *\|?[ :|-]*-[ :|-]*\|[ :|-]*$`)
)

// blocks renders lines block by block.
func (r *renderer) blocks(lines []string) {
	for len(lines) > 0 {
		line := lines[0]
		n := 1
		switch {
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(strings.TrimLeft(line, " "), "```"):
			n = r.code(lines)
		case anchorLine.MatchString(line):
			id := anchorLine.FindStringSubmatch(line)[1]
			r.toc = append(r.toc, heading{ID: id})
			r.out.WriteString(`<a id="` + id + `"></a>` + "\n")
		case headingLine.MatchString(line):
			m := headingLine.FindStringSubmatch(line)
			r.heading(len(m[1]), m[2])
		case strings.HasPrefix(line, ">"):
			n = r.quote(lines)
		case itemLine.MatchString(line):
			n = r.list(lines)
		case len(lines) > 1 && strings.Contains(line, "|") && tableRule.MatchString(lines[1]):
			n = r.table(lines)
		default:
			n = r.paragraph(lines)
		}
		lines = lines[n:]
	}
}

func (r *renderer) code(lines []string) int {
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
	n := 1
	var text []string
	for ; n < len(lines) && strings.TrimSpace(lines[n]) != "```"; n++ {
		text = append(text, strings.TrimPrefix(lines[n], strings.Repeat(" ", indent)))
	}
	r.out.WriteString("<pre><code>" + html.EscapeString(strings.Join(text, "\n")) + "</code></pre>\n")
	return min(n+1, len(lines))
}

func (r *renderer) heading(level int, text string) {
	h := heading{level, slug(plain(text)), plain(text)}
	for r.ids[h.ID] {
		h.ID += "-1"
	}
	r.ids[h.ID] = true
	r.toc = append(r.toc, h)
	tag := "h" + string(rune('0'+level))
	r.out.WriteString("<" + tag + ` id="` + html.EscapeString(h.ID) + `">` + r.inline(text) + "</" + tag + ">\n")
}

// slug returns a heading's name in links, as GitHub makes it: `Who is who?` is `who-is-who`.
func slug(text string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case c == ' ':
			b.WriteByte('-')
		case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c > 127:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// plain returns text without Markdown's marks.
func plain(text string) string {
	text = linkText.ReplaceAllString(text, "$2")
	return strings.NewReplacer("`", "", "**", "", "\\", "").Replace(text)
}

func (r *renderer) quote(lines []string) int {
	n := 0
	var inner []string
	for ; n < len(lines) && strings.HasPrefix(lines[n], ">"); n++ {
		inner = append(inner, strings.TrimPrefix(strings.TrimPrefix(lines[n], ">"), " "))
	}
	r.out.WriteString("<blockquote>\n")
	r.blocks(inner)
	r.out.WriteString("</blockquote>\n")
	return n
}

// list renders the items at the indentation of the first line, each with the blocks below it.
func (r *renderer) list(lines []string) int {
	first := itemLine.FindStringSubmatch(lines[0])
	base, tag := len(first[1]), "ul"
	if first[2][0] >= '0' && first[2][0] <= '9' {
		tag = "ol"
	}
	r.out.WriteString("<" + tag + ">\n")
	n := 0
	for n < len(lines) {
		m := itemLine.FindStringSubmatch(lines[n])
		if m == nil || len(m[1]) != base || (tag == "ol") != (m[2][0] >= '0' && m[2][0] <= '9') {
			break
		}
		body, used := item(lines[n:], base, m)
		n += used
		r.out.WriteString("<li>")
		r.item(body)
		r.out.WriteString("</li>\n")
	}
	r.out.WriteString("</" + tag + ">\n")
	return n
}

// item returns the lines of a list's first item, without their indentation, and how many they are.
func item(lines []string, base int, m []string) (body []string, used int) {
	deep := base + len(m[2]) + 1
	body = []string{m[3]}
	for used = 1; used < len(lines); used++ {
		line := lines[used]
		indent := len(line) - len(strings.TrimLeft(line, " "))
		blank := strings.TrimSpace(line) == ""
		next := used+1 < len(lines) && strings.HasPrefix(lines[used+1], strings.Repeat(" ", deep))
		switch {
		case blank && !next, !blank && indent <= base:
			return body, used
		case blank:
			body = append(body, "")
		default:
			body = append(body, line[min(indent, deep):])
		}
	}
	return body, used
}

// item renders an item: its first paragraph without a paragraph's space around it.
func (r *renderer) item(body []string) {
	n := 1
	for n < len(body) && strings.TrimSpace(body[n]) != "" && !startsBlock(body[n]) {
		n++
	}
	r.out.WriteString(r.inline(strings.Join(body[:n], "\n")))
	if n < len(body) {
		r.out.WriteString("\n")
		r.blocks(body[n:])
	}
}

func startsBlock(line string) bool {
	if strings.HasPrefix(strings.TrimLeft(line, " "), "```") || strings.HasPrefix(line, ">") {
		return true
	}
	return anchorLine.MatchString(line) || headingLine.MatchString(line) || itemLine.MatchString(line)
}

func (r *renderer) table(lines []string) int {
	r.out.WriteString(`<div class="table"><table>` + "\n")
	if head := cells(lines[0]); strings.Join(head, "") != "" {
		r.row("th", head)
	}
	n := 2
	for ; n < len(lines) && strings.Contains(lines[n], "|"); n++ {
		r.row("td", cells(lines[n]))
	}
	r.out.WriteString("</table></div>\n")
	return n
}

func (r *renderer) row(tag string, list []string) {
	r.out.WriteString("<tr>")
	for _, c := range list {
		r.out.WriteString("<" + tag + ">" + r.inline(c) + "</" + tag + ">")
	}
	r.out.WriteString("</tr>\n")
}

// cells splits a table's row; `\|` is a bar in a cell.
func cells(line string) (out []string) {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if !strings.HasSuffix(line, `\|`) {
		line = strings.TrimSuffix(line, "|")
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			b.WriteByte('|')
			i++
		case line[i] == '|':
			out = append(out, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(line[i])
		}
	}
	return append(out, strings.TrimSpace(b.String()))
}

func (r *renderer) paragraph(lines []string) int {
	n := 1
	for n < len(lines) && strings.TrimSpace(lines[n]) != "" && !startsBlock(lines[n]) {
		n++
	}
	r.out.WriteString("<p>" + r.inline(strings.Join(lines[:n], "\n")) + "</p>\n")
	return n
}

var (
	linkText = regexp.MustCompile(`(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)`)
	strong   = regexp.MustCompile(`\*\*([^*]+(?:\*[^*]+\*[^*]*)*)\*\*`)
	emphasis = regexp.MustCompile(`(^|[\s(>])\*([^*\s][^*]*)\*`)
	address  = regexp.MustCompile(`(^|[\s(])(https?://[^\s<)]+[^\s<).,;:])`)
)

// inline renders a text: code first, since nothing else counts inside it.
func (r *renderer) inline(text string) string {
	var out strings.Builder
	for text != "" {
		start := strings.IndexByte(text, '`')
		if start < 0 {
			break
		}
		ticks := len(text[start:]) - len(strings.TrimLeft(text[start:], "`"))
		mark := text[start : start+ticks]
		end := strings.Index(text[start+ticks:], mark)
		if end < 0 {
			break
		}
		out.WriteString(text[:start] + "\x00" + hold(text[start+ticks:start+ticks+end]) + "\x01")
		text = text[start+ticks+end+ticks:]
	}
	out.WriteString(text)
	return r.marks(out.String())
}

// hold writes code so that no mark is found in it, as the numbers of its runes.
func hold(code string) string {
	code = strings.TrimSpace(code)
	var b strings.Builder
	for _, c := range code {
		b.WriteRune(0xF0000 + c)
	}
	return b.String()
}

// marks renders links and emphasis, and puts the code back.
func (r *renderer) marks(text string) string {
	text = html.EscapeString(text)
	text = linkText.ReplaceAllStringFunc(text, func(s string) string {
		m := linkText.FindStringSubmatch(s)
		to := html.EscapeString(r.link(html.UnescapeString(m[3])))
		if m[1] == "!" {
			return `<img src="` + to + `" alt="` + m[2] + `" loading="lazy">`
		}
		return `<a href="` + to + `">` + m[2] + "</a>"
	})
	text = address.ReplaceAllString(text, `$1<a href="$2">$2</a>`)
	text = strong.ReplaceAllString(text, "<strong>$1</strong>")
	text = emphasis.ReplaceAllString(text, "$1<em>$2</em>")
	text = strings.NewReplacer(`\*`, "*", `\_`, "_", `\[`, "[", `\]`, "]", `\&lt;`, "&lt;").Replace(text)
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == 0:
			b.WriteString("<code>")
		case c == 1:
			b.WriteString("</code>")
		case c >= 0xF0000:
			b.WriteString(html.EscapeString(string(c - 0xF0000)))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
