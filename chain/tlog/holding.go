package tlog

import (
	"slices"

	"tidemark/chain"
)

// LogOf returns the holding of a policy's witnesses: a checkpoint and the picks among its leaves. The checkpoint is nil if it was not checked.
// required says that nothing is witnessed without the quorum.
func LogOf(policy *Policy, o *Opened, picks LoggedPicks, required bool) *chain.Log {
	l := &chain.Log{Required: required}
	if policy != nil {
		l.Enough = policy.Enough
		for _, w := range policy.Witnesses {
			l.Cosigners = append(l.Cosigners, chain.Cosigner{Name: w.Label})
		}
	}
	if o == nil {
		return l
	}
	l.Hashes, l.Fault, l.Read, l.Newest = picks.Hashes, picks.Fault, true, int64(len(picks.Hashes))
	if policy != nil {
		for name, c := range policy.TimesOf(o) {
			i := slices.IndexFunc(l.Cosigners, func(c chain.Cosigner) bool { return c.Name == name })
			l.Cosigners[i].At = c.At
		}
	}
	return l
}
