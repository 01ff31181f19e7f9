package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWordsAreCompleted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		words []string
		want  string
	}{
		{"a command", []string{"sched"}, "scheduler schedule"},
		{"a command of a command", []string{"schedule", "p"}, "pause"},
		{"after a flag with its value", []string{"--world", "sandbox", "quar"}, "quarantine"},
		{"after a flag that is one word with its value", []string{"--world=sandbox", "quar"}, "quarantine"},
		{"a flag of the command", []string{"alerts", "--al"}, "--all"},
		{"a value out of a few", []string{"--log-format", "j"}, "json"},
		{"the same as bash takes it apart", []string{"--log-format", "=", "j"}, "--log-format=json"},
		{"the same as other shells leave it", []string{"--log-format=j"}, "--log-format=json"},
		{"an argument out of a few", []string{"completion", ""}, "bash zsh fish"},
		{"none after it", []string{"completion", "bash", ""}, ""},
		{"what is hidden is not shown", []string{"complete"}, ""},
		{"nothing that could be meant", []string{"nonsense", "--nonsense"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if code := run(t.Context(), append([]string{"complete-words", "--"}, c.words...), &out, &errs); code != 0 {
				t.Fatalf("exit %d: %s", code, errs.String())
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				word, _, _ := strings.Cut(line, "\t")
				got = append(got, word)
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Errorf("completed (-want +got):\n%s", d)
			}
		})
	}
}

func TestShellsCanReadTheirScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var script bytes.Buffer
		if code := run(t.Context(), []string{"completion", shell}, &script, io.Discard); code != 0 || script.Len() == 0 {
			t.Errorf("%s: exit %d, %d bytes", shell, code, script.Len())
		}
		program, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("there is no %s to read its script", shell)
			continue
		}
		cmd := exec.CommandContext(t.Context(), program, "-n")
		cmd.Stdin = &script
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, said)
		}
	}
	if code := run(t.Context(), []string{"completion", "csh"}, io.Discard, io.Discard); code != 2 {
		t.Errorf("an unknown shell: exit %d, want 2", code)
	}
}

func TestBashCompletes(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	asked := filepath.Join(t.TempDir(), "asked")
	script, err := completionScripts.ReadFile("completion/bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, answers, want, asks string }{
		{`tidemark --world sandbox sched`, `scheduler\tRun a scheduler.\nschedule\tPrint it.\n`, "scheduler|schedule", "complete-words|--|--world|sandbox|sched"},
		{`tidemark --log-format = j`, `--log-format=json\t\n`, "json", "complete-words|--|--log-format|=|j"},
		{`tidemark ''`, ``, "", "complete-words|--|"},
	} {
		cmd := exec.CommandContext(t.Context(), bash, "--norc", "-c", string(script)+`
			tidemark() { (IFS='|'; printf '%s' "$*" >'`+asked+`'); printf -- '`+c.answers+`'; }
			COMP_WORDS=(`+c.line+`) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
			_tidemark
			IFS='|'; printf '%s' "${COMPREPLY[*]}"`)
		cmd.Dir = filepath.Dir(asked)
		got, err := cmd.CombinedOutput()
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q (%v), want %q", c.line, got, err, c.want)
		}
		if said, err := os.ReadFile(asked); err != nil || string(said) != c.asks {
			t.Errorf("%s: asks %q (%v), want %q", c.line, said, err, c.asks)
		}
	}
}
