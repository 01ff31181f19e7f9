package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"tidemark/internal/config"
)

// purposes group the commands in the help.
var purposes = []kong.Group{
	{Key: "run", Title: "Run"},
	{Key: "look", Title: "Look"},
	{Key: "data", Title: "Data"},
	{Key: "record", Title: "Record"},
	{Key: "clients", Title: "Clients"},
	{Key: "more", Title: "More"},
}

const (
	helpWidth   = 80  // if the output is not a terminal
	widestHelp  = 120 // longer lines are hard to read
	widestLabel = 34
)

// printHelp prints the help of the program or of one command.
func printHelp(_ kong.HelpOptions, ctx *kong.Context) error {
	h := helpText{width: widthOf(ctx.Stdout)}
	if node := ctx.Selected(); node != nil {
		h.command(node)
	} else {
		h.program(ctx.Model.Node)
	}
	_, err := io.WriteString(ctx.Stdout, h.text.String())
	return err
}

// widthOf returns how many characters fit in a line of an output.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 40 { //nolint:gosec // a file descriptor
			return min(columns, widestHelp)
		}
	}
	return helpWidth
}

// helpText is a help text that is being written.
type helpText struct {
	width int
	text  strings.Builder
}

func (h *helpText) line(format string, args ...any) {
	h.text.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// program lists the commands by purpose, one a line.
func (h *helpText) program(root *kong.Node) {
	h.line("Usage: %s COMMAND [flags]", root.Name)
	h.line("%s", root.Help)
	for _, g := range purposes {
		title := g.Title
		for _, c := range root.Children {
			// The last line shows the help command.
			if !c.Hidden && c.Name != "help" && c.Group != nil && c.Group.Key == g.Key {
				h.line("%-8s %-11s %s", title, c.Name, c.Help)
				title = ""
			}
		}
	}
	h.line("%[1]s COMMAND --help: its flags and settings; %[1]s help settings: all", root.Name)
}

// command describes a command: its arguments, its commands, its flags, and the settings that it reads.
func (h *helpText) command(node *kong.Node) {
	h.line("Usage: tidemark %s", node.Summary())
	if node.Help != "" {
		h.line("")
		for _, line := range wrapped(node.Help, h.width) {
			h.line("%s", line)
		}
	}
	var arguments, commands, flags, settings, first [][2]string
	for _, a := range node.Positional {
		arguments = append(arguments, [2]string{a.Summary(), a.Help})
	}
	for _, c := range node.Children {
		if !c.Hidden {
			commands = append(commands, [2]string{c.Name, c.Help})
		}
	}
	for n := node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			switch {
			case f.Hidden:
			case len(f.Envs) > 0:
				row := [2]string{f.Envs[0], settingHelp(f)}
				settings = append(settings, row)
				if f.Tag.Has("first") {
					first = append(first, row)
				}
			default:
				flags = append(flags, [2]string{flagLabel(f), f.Help})
			}
		}
	}
	h.columns("Arguments:", arguments)
	h.columns("Commands:", commands)
	h.columns("Flags:", flags)
	title := "Settings it reads: environment, .env file or flags (LOG_LEVEL is --log-level)"
	switch {
	case len(settings) > maxSettings:
		h.columns(title+".\nThe first to know:", first)
		h.line("\n%d more: `tidemark help settings %s`", len(settings)-len(first), strings.Fields(node.Path())[0])
	case len(settings) > moreSettings:
		h.columns(title+";\n`tidemark help settings` says more:", settings)
	default:
		h.columns(title+":", settings)
	}
}

const (
	// moreSettings is the number of settings above which only the first sentence of each is shown.
	moreSettings = 12
	// maxSettings is the number above which only those tagged as first are shown, so that the help of a role fits a screen.
	maxSettings = 25
)

// settingHelp returns the first sentence about a setting, its default, and its flag if the flag has another name.
func settingHelp(f *kong.Flag) string {
	text := firstSentence(f.Help)
	if f.HasDefault && f.Default != "" {
		text += " Default: " + f.Default + "."
	}
	if f.Name != strings.ToLower(strings.ReplaceAll(f.Envs[0], "_", "-")) {
		text += " Flag: --" + f.Name + "."
	}
	return text
}

// firstSentence returns a text up to the first full stop that is followed by a space and a capital letter.
func firstSentence(text string) string {
	for i := 0; i+2 < len(text); i++ {
		if text[i] == '.' && text[i+1] == ' ' && text[i+2] >= 'A' && text[i+2] <= 'Z' {
			return text[:i+1]
		}
	}
	return text
}

// flagLabel returns a flag as users type it.
func flagLabel(f *kong.Flag) string {
	label := "--" + f.Name
	switch {
	case f.IsBool() && f.Tag.Negatable != "":
		label = "--[no-]" + f.Name
	case !f.IsBool():
		label += "=" + f.FormatPlaceHolder()
	}
	if f.Short != 0 {
		label = "-" + string(f.Short) + ", " + label
	}
	return label
}

// columns prints rows of two columns below a title. Without rows, it prints nothing.
func (h *helpText) columns(title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	h.line("\n%s", title)
	left := 0
	for _, r := range rows {
		if len(r[0]) <= widestLabel {
			left = max(left, len(r[0]))
		}
	}
	for _, r := range rows {
		lines := wrapped(r[1], h.width-left-4)
		if len(r[0]) > left {
			h.line("  %s", r[0])
		} else if len(lines) > 0 {
			h.line("  %-*s  %s", left, r[0], lines[0])
			lines = lines[1:]
		} else {
			h.line("  %s", r[0])
		}
		for _, line := range lines {
			h.line("  %-*s  %s", left, "", line)
		}
	}
}

// wrapped breaks a text into lines of at most width characters. A longer word gets its own line.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

type helpCommand struct {
	Topic []string `arg:"" optional:"" help:"settings, settings of a COMMAND, or a command."`
}

// Run prints the help of the program, of a command, or every setting with its meaning and its present value.
func (c helpCommand) Run(ctx context.Context, k *kong.Context, p *program) error {
	if len(c.Topic) == 0 || c.Topic[0] != "settings" {
		return command(ctx, append(c.Topic, "--help"), p.stdout, io.Discard, new(func(string)))
	}
	all, err := everySetting()
	if err != nil {
		return usageError{err}
	}
	wanted, err := readBy(k.Model.Node, c.Topic[1:])
	if err != nil {
		return err
	}
	readers := readersOf(k.Model.Node)
	h := helpText{width: widthOf(p.stdout)}
	h.line("Each setting is an environment variable, a line of a .env file, or a flag (WORLD is --world).")
	h.line("A flag wins over the environment, and that over .env.")
	for _, s := range all.List() {
		if wanted != nil && !wanted[s.Name] {
			continue
		}
		h.line("\n%s", s.Name)
		for _, line := range wrapped(s.Help, h.width-4) {
			h.line("    %s", line)
		}
		h.line("    Default: %s. Now: %s. Read by: %s.", dash(s.Default), dash(s.Value), readers[s.Name])
	}
	_, err = io.WriteString(p.stdout, h.text.String())
	return err
}

// readBy returns the settings that a command reads. It is nil, for all settings, if no command is named.
func readBy(root *kong.Node, words []string) (map[string]bool, error) {
	if len(words) == 0 {
		return nil, nil //nolint:nilnil // all of them
	}
	node := root
	for _, word := range words {
		i := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word })
		if i < 0 {
			return nil, usageError{fmt.Errorf("unknown command %q: see tidemark --help", strings.Join(words, " "))}
		}
		node = node.Children[i]
	}
	names := map[string]bool{}
	for n := node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			for _, env := range f.Envs {
				names[env] = true
			}
		}
	}
	return names, nil
}

// everySetting reads all settings from the environment, independent of the command.
func everySetting() (s config.Settings, err error) {
	parser, err := kong.New(&s)
	if err != nil {
		return s, fmt.Errorf("read the settings: %w", err)
	}
	_, err = parser.Parse(nil)
	return s, err
}

// manyReaders is the minimum number of commands that are not listed.
const manyReaders = 8

// readersOf maps each setting to the commands that read it.
func readersOf(root *kong.Node) map[string]string {
	names := map[string][]string{}
	var walk func(name string, n *kong.Node)
	walk = func(name string, n *kong.Node) {
		for _, f := range n.Flags {
			for _, env := range f.Envs {
				if !slices.Contains(names[env], name) {
					names[env] = append(names[env], name)
				}
			}
		}
		for _, c := range n.Children {
			walk(name, c)
		}
	}
	for _, c := range root.Children {
		walk(c.Name, c)
	}
	out := map[string]string{}
	for env, list := range names {
		out[env] = strings.Join(list, ", ")
		if len(list) >= manyReaders {
			out[env] = "most commands"
		}
	}
	for _, f := range root.Flags {
		for _, env := range f.Envs {
			out[env] = "every command"
		}
	}
	return out
}

// hoisted moves flags from before the command to after it, where the command's own settings are read.
func hoisted(root *kong.Node, args []string) []string {
	var kept, moved []string
	rest := args
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "--" {
		f, n := flagOf(root, rest[0]), 1
		if f != nil && !f.IsBool() && !strings.Contains(rest[0], "=") {
			n = min(2, len(rest))
		}
		if f == nil || slices.Contains(root.Flags, f) {
			kept = append(kept, rest[:n]...)
		} else {
			moved = append(moved, rest[:n]...)
		}
		rest = rest[n:]
	}
	at := slices.Index(rest, "--")
	if at < 0 {
		at = len(rest)
	}
	return slices.Concat(kept, rest[:at], moved, rest[at:])
}
