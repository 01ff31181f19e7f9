package main

import (
	"strings"

	"tidemark/api/view"
)

// said compares the members that follow from the method and from other members: addresses, level, environment, disclaimer, JSON-LD and the
// versions of the program.
func (o *outside) said(all view.Inputs, snapshot view.SignalSnapshot) {
	differed := o.count("list", differ)
	base, found := strings.CutSuffix(snapshot.PageURL, view.PageAddress(o.def.ID))
	if !found {
		o.say("list", differ, "page_url", "%s is no address of the page of %s", snapshot.PageURL, o.def.ID)
		return
	}
	want := view.Derived(o.def, snapshot, base)
	for _, m := range []struct {
		name       string
		want, said any
	}{
		{"history_url", want.HistoryURL, snapshot.HistoryURL},
		{"brief_url", want.BriefURL, snapshot.BriefURL},
		{"provenance.url", want.Provenance.URL, snapshot.Provenance.URL},
		{"uncertainty_level", want.UncertaintyLevel, snapshot.UncertaintyLevel},
		{"json_ld", want.JSONLD, snapshot.JSONLD},
		{"environment", want.Environment, snapshot.Environment},
		{"environment", want.Environment, o.stated.Environment},
		{"environment", want.Environment, all.Environment},
		{"disclaimer", want.Disclaimer, snapshot.Disclaimer},
		{"disclaimer", want.Disclaimer, o.stated.Disclaimer},
		{"disclaimer", want.Disclaimer, all.Disclaimer},
		{"code_version", snapshot.Provenance.CodeVersion, o.stated.CodeVersion},
		{"inputs.id", o.def.ID, all.ID},
		{"inputs.as_of", o.stated.AsOf, all.AsOf},
	} {
		at := differs(m.want, m.said)
		if at == "" {
			at = differs(m.said, m.want) // what the server adds
		}
		if at != "" {
			o.say("list", differ, m.name, "it does not follow from the rest of what the server says: %s", strings.TrimSpace(at))
		}
	}
	raw := func(name, said, sha256 string) {
		if said != base+view.RawAddress(sha256) {
			o.say("list", differ, name, "its raw_url %s leads to other bytes", said)
		}
	}
	for _, b := range o.stated.Bodies {
		raw(b.SHA256, b.RawURL, b.SHA256)
	}
	for _, b := range all.Data {
		raw("inputs."+b.SHA256, b.RawURL, b.SHA256)
	}
	if o.count("list", differ) > differed {
		return
	}
	elsewhere := ""
	if base != o.reader.Base() {
		elsewhere = ", and not at " + o.reader.Base()
	}
	o.say("list", agrees, "addresses", "of the page, the brief, the history, the list and each body's bytes are all at %s%s; JSON-LD, environment and disclaimer follow", base, elsewhere)
}
