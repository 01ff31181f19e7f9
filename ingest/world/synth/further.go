package synth

import (
	"math"
	"strconv"
)

// profiles returns the predefined profiles, and as many further ones as the world needs. The further companies have the same kinds of
// business under other names and tickers, a little smaller each round, and their own lives.
func (w World) profiles() []profile {
	if w.Companies <= len(profiles) {
		return profiles
	}
	taken := map[string]bool{}
	for _, p := range profiles {
		taken[p.ticker], taken[p.later] = true, true
	}
	code := 0
	// free returns the next three letters that no company has.
	free := func() string {
		for ; ; code++ {
			letters := string([]byte{byte('A' + code/676%26), byte('A' + code/26%26), byte('A' + code%26)})
			if !taken[letters] {
				taken[letters] = true
				return letters
			}
		}
	}
	list := append(make([]profile, 0, w.Companies), profiles...)
	for i := len(profiles); i < w.Companies && code < maxCodes; i++ {
		p, round := profiles[i%len(profiles)], i/len(profiles)+1
		p.name += " " + strconv.Itoa(round)
		p.ticker, p.later = free(), free()
		p.shares *= math.Pow(shrinking, float64(round-1))
		list = append(list, p)
	}
	return list
}

const (
	// maxCodes is how many three letters there are, less a company's two.
	maxCodes = 26*26*26 - 2
	// shrinking is the ratio of the share counts of a round's companies to the share counts of the previous round.
	shrinking = 0.95
)
