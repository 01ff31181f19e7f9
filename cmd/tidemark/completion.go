package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

//go:embed completion
var completionScripts embed.FS

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script that makes a shell complete the program's commands and flags: source <(tidemark completion bash).
func (c completionCommand) Run(p *program) error {
	script, err := completionScripts.ReadFile("completion/" + c.Shell)
	if err != nil {
		return fmt.Errorf("completion of %s: %w", c.Shell, err)
	}
	_, err = p.stdout.Write(script)
	return err
}

// completeWordsCommand is the command that the completion scripts call.
type completeWordsCommand struct {
	Words []string `arg:"" optional:"" passthrough:"" sep:"none" help:"The words after the program's name; the last is completed."`
}

// Run prints a line for each completion of the last word: the word, a tab, and its meaning.
func (c completeWordsCommand) Run(_ context.Context, k *kong.Context, p *program) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, w := range completions(k.Model.Node, words) {
		if _, err := io.WriteString(p.stdout, w.text+"\t"+w.help+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// completed is a possible completion of a word.
type completed struct{ text, help string }

// completions returns the possible completions of the last word, in the order of the help: commands, flags, and values from a short list.
// Without words, it completes an empty word.
func completions(program *kong.Node, words []string) []completed {
	words = rejoined(words)
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	at, value, positions := program, (*kong.Flag)(nil), 0
	for _, w := range words[:len(words)-1] {
		if value != nil {
			value = nil // w is the value of the flag
			continue
		}
		if strings.HasPrefix(w, "-") {
			if f := flagOf(at, w); f != nil && !f.IsBool() && !strings.Contains(w, "=") {
				value = f
			}
			continue
		}
		if child := childOf(at, w); child != nil {
			at, positions = child, 0
		} else {
			positions++
		}
	}
	var out []completed
	add := func(text, help string) {
		if strings.HasPrefix(text, last) {
			first, _, _ := strings.Cut(help, "\n")
			out = append(out, completed{text, first})
		}
	}
	name, _, given := strings.Cut(last, "=")
	switch {
	case value != nil:
		for _, v := range valuesOf(value.Value) {
			add(v, "")
		}
	case strings.HasPrefix(last, "-") && given:
		if f := flagOf(at, name); f != nil {
			for _, v := range valuesOf(f.Value) {
				add(name+"="+v, "")
			}
		}
	case strings.HasPrefix(last, "-"):
		for n := at; n != nil; n = n.Parent {
			for _, f := range n.Flags {
				if !f.Hidden {
					add("--"+f.Name, f.Help)
				}
			}
		}
	default:
		for _, child := range at.Children {
			if !child.Hidden {
				add(child.Name, child.Help)
			}
		}
		if positions < len(at.Positional) {
			for _, v := range valuesOf(at.Positional[positions]) {
				add(v, "")
			}
		}
	}
	return out
}

// rejoined joins the parts into which bash splits a flag: its name, the equals sign, and its value.
func rejoined(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if words[i] != "=" || len(out) == 0 {
			out = append(out, words[i])
			continue
		}
		out[len(out)-1] += "="
		if i+1 < len(words) {
			i++
			out[len(out)-1] += words[i]
		}
	}
	return out
}

// flagOf returns the flag that a word names, of a command or of a command above it, or nil. Before the command, it may be a setting of any
// command.
func flagOf(at *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for n := at; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if f.Name == name {
				return f
			}
		}
	}
	if at.Parent == nil {
		return settingOf(at, name)
	}
	return nil
}

// settingOf returns the first flag of that name below a node that is a setting.
func settingOf(at *kong.Node, name string) *kong.Flag {
	for _, f := range at.Flags {
		if f.Name == name && len(f.Envs) > 0 {
			return f
		}
	}
	for _, child := range at.Children {
		if f := settingOf(child, name); f != nil {
			return f
		}
	}
	return nil
}

func childOf(at *kong.Node, word string) *kong.Node {
	for _, child := range at.Children {
		if child.Type == kong.CommandNode && child.Name == word {
			return child
		}
	}
	return nil
}

// valuesOf returns the values of an enum. An empty value cannot be completed.
func valuesOf(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" })
}
