package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

const (
	promptVerify  = "verify_track_record"
	promptExplain = "explain_signal"
)

func (d *Server) addPrompts(s *mcp.Server) {
	inLanguage := &mcp.PromptArgument{Name: "language", Title: "Language", Description: "Language of the answer: " + languages.Listed("or") + ". English where it is not given."}
	s.AddPrompt(&mcp.Prompt{
		Name: promptVerify, Title: "Verify this track record",
		Description: "Recompute the hash chain of the stock picks and compare it with its witnesses, trusting the server for nothing.",
		Arguments: []*mcp.PromptArgument{
			{Name: "ticker", Title: "Ticker", Description: "A stock to look at in particular; without it the whole record is checked."}, inLanguage,
		},
	}, d.verifyPrompt)
	s.AddPrompt(&mcp.Prompt{
		Name: promptExplain, Title: "Explain a market signal",
		Description: "What a signal says today, how sure it is and where it fails, from its newest snapshot and its method.",
		Arguments: []*mcp.PromptArgument{
			{Name: "signal", Title: "Signal", Description: "Id of the signal, such as crack-spread-321.", Required: true}, inLanguage,
		},
	}, d.explainPrompt)
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// answerIn returns the sentence that requests a language.
func answerIn(arguments map[string]string) (string, error) {
	code := arguments["language"]
	if code == "" {
		code = string(picks.English)
	}
	lang := languages.Find(picks.Lang(code))
	if lang == nil {
		return "", invalid("language can be %s, and not %s", languages.Listed("or"), quoted(code))
	}
	return "Answer in " + lang.EnglishName + ".", nil
}

func said(text string) *mcp.PromptMessage {
	return &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: text}}
}

func (d *Server) verifyPrompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	in, err := answerIn(req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	var l lines
	l.add("Verify the track record of the stock picks at %s. Trust the server for nothing that you can compute or look up elsewhere.\n", d.base)
	if symbol := req.Params.Arguments["ticker"]; symbol != "" {
		if !ticker.pattern.MatchString(symbol) {
			return nil, invalid("ticker cannot be %s: 1 to 12 letters, digits, dots and hyphens", quoted(symbol))
		}
		l.add("The stock in question is %s: begin with verify_pick for it, and look at its links in the chain with special care.\n", strings.ToUpper(symbol))
	}
	l.add(`1. Call get_verification_chain, and again with from_seq=next_from_seq until that is null.
2. For each pick, in the order of seq: join ticker, price, date and previous_hash with |, exactly as the strings stand; take SHA-256 of the UTF-8 bytes as `+
		`lower-case hex; compare with hash. Use a tool that runs code: do not compute hashes in your head, and say so if you cannot run code.
3. previous_hash of the first pick must be the genesis hash of 64 zeros, and of every other the hash of the pick before. seq must count from 1 without a hole.
4. Each trading day of the New York Stock Exchange from the first pick on must have a pick or stand in gaps with a reason. Report the gaps and corrections.
5. Ask the two outside records, if you can reach them: the file in the git repository that git names must hold the same picks, and its history must only ever `+
		`have added lines; the attestations that attestation.attester made under attestation.schema_uid on attestation.network must each hold the hash of the pick `+
		`whose number is their length. A block's time bounds when a pick existed.
6. Report: how many picks were recomputed, the head hash, the first that does not hold if there is one, what each outside record said, and what you could not check and why.

People can do the same with one command: tidemark verify --url %s`, d.base)
	l.add("\n%s", in)
	return &mcp.GetPromptResult{Description: "Verify the track record at " + d.base, Messages: []*mcp.PromptMessage{said(l.String())}}, nil
}

func (d *Server) explainPrompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	in, err := answerIn(req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	st, err := d.signals()
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	id := req.Params.Arguments["signal"]
	s := st.Signal(id)
	if s == nil {
		return nil, invalid("unknown signal %s: use one of %s", quoted(id), strings.Join(d.signalIDs(), ", "))
	}
	embed := func(uri, mediaType, text string) *mcp.PromptMessage {
		return &mcp.PromptMessage{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mediaType, Text: text}}}
	}
	uri := d.base + signalsPath + "/" + id
	return &mcp.GetPromptResult{
		Description: "Explain " + s.Definition.Name,
		Messages: []*mcp.PromptMessage{
			said("Explain to a careful reader what the market signal " + s.Definition.Name + " says at the moment: the value with its unit and interval, what the interval bounds and whether that was measured or is assumed, how far it is from its " +
				"baseline, what its backtest is worth, how fresh it is, and where it fails. Its newest snapshot and its method follow; take numbers from there only. " + in),
			embed(uri, "application/json", string(s.JSON.Identity.Body)),
			embed(uri+briefSuffix, "text/markdown", s.Markdown),
		},
	}, nil
}

func (d *Server) signalIDs() []string {
	var ids []string
	for _, def := range d.o.Definitions {
		ids = append(ids, def.ID)
	}
	return ids
}

// complete suggests values for the arguments of prompts and resource templates, from the characters typed so far.
func (d *Server) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var all []string
	switch req.Params.Argument.Name {
	case "language":
		for _, l := range picks.Langs() {
			all = append(all, string(l))
		}
	case "signal", "id":
		all = d.signalIDs()
	case "ticker":
		if st := d.o.Publications.State(); st != nil {
			all = st.PickedTickers()
		}
	}
	typed := strings.ToLower(req.Params.Argument.Value)
	all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !strings.HasPrefix(strings.ToLower(v), typed) })
	const most = 100 // the maximum in the protocol
	shown := all[:min(len(all), most)]
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: append([]string{}, shown...), Total: len(all), HasMore: len(all) > len(shown),
	}}, nil
}
