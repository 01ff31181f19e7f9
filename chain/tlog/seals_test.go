package tlog_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

// sealedLog makes leaves about one sealed day. The seal is leaf 1, made at 22:00 and to be revealed by 23:00.
type sealedLog struct {
	t    *testing.T
	days tlog.SealedDays
	next int64
}

const (
	sealDay      = "2026-03-04"
	sealPreimage = "AAPL|243.85|" + sealDay + "|0000000000000000000000000000000000000000000000000000000000000000"
)

var (
	sealSalt = bytes.Repeat([]byte{7}, 32)
	sealTime = time.Date(2026, 3, 4, 22, 0, 0, 0, time.UTC)
)

func (s *sealedLog) add(kind string, values ...string) {
	s.t.Helper()
	text, err := tlog.FormatLeaf(kind, values...)
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := tlog.ParseLeaf(text)
	if err != nil {
		s.t.Fatal(err)
	}
	s.days.Add(s.next, l)
	s.next++
}

func (s *sealedLog) genesis(from string) {
	s.t.Helper()
	s.add(tlog.KindGenesis, "log.example/log", "live", "0", strings.Repeat("0", 64), "none", from, tlog.FormatTime(sealTime.Add(-time.Hour)))
}

func (s *sealedLog) seal() {
	s.t.Helper()
	s.add(tlog.KindSeal, "pick "+sealDay, tlog.Commitment(sealSalt, []byte(sealPreimage)), "picks/1", tlog.FormatTime(sealTime.Add(time.Hour)), tlog.FormatTime(sealTime))
}

func (s *sealedLog) reveal(index int64, content string, at time.Duration) {
	s.t.Helper()
	s.add(tlog.KindReveal, fmt.Sprint(index), "pick "+sealDay, fmt.Sprintf("%x", sealSalt), base64.StdEncoding.EncodeToString([]byte(content)), tlog.FormatTime(sealTime.Add(at)))
}

func (s *sealedLog) pick(preimage string) {
	s.t.Helper()
	s.add(tlog.KindPick, "1", preimage, strings.Repeat("a", 64), tlog.FormatTime(sealTime.Add(30*time.Minute)))
}

func (s *sealedLog) gap(at time.Duration) {
	s.t.Helper()
	s.add(tlog.KindGap, sealDay, "x", tlog.FormatTime(sealTime.Add(at)))
}

func TestEachWayToFailARevealIsNamedByItsDay(t *testing.T) {
	t.Parallel()
	const half = 30 * time.Minute
	other := strings.Replace(sealPreimage, "AAPL", "MSFT", 1)
	for name, tt := range map[string]struct {
		do    func(s *sealedLog)
		now   time.Duration
		fault tlog.SealFault
		proof bool
	}{
		"revealed, then announced":          {func(s *sealedLog) { s.seal(); s.reveal(1, sealPreimage, half); s.pick(sealPreimage) }, 9 * time.Hour, "", false},
		"announced, then revealed":          {func(s *sealedLog) { s.seal(); s.pick(sealPreimage); s.reveal(1, sealPreimage, half) }, 9 * time.Hour, "", false},
		"before its time ends":              {func(s *sealedLog) { s.seal() }, time.Hour, "", false},
		"its time ended, the log is silent": {func(s *sealedLog) { s.seal() }, time.Hour + time.Second, tlog.SealMissing, false},
		"its time ended, the log went on":   {func(s *sealedLog) { s.seal(); s.gap(2 * time.Hour) }, 0, tlog.SealMissing, true},
		"announced and not revealed":        {func(s *sealedLog) { s.seal(); s.pick(sealPreimage); s.gap(2 * time.Hour) }, 9 * time.Hour, tlog.SealMissing, true},
		"late":                              {func(s *sealedLog) { s.seal(); s.reveal(1, sealPreimage, time.Hour+time.Second); s.pick(sealPreimage) }, 9 * time.Hour, tlog.SealLate, false},
		"another content":                   {func(s *sealedLog) { s.seal(); s.reveal(1, other, half) }, half, tlog.SealWrong, true},
		"late and another content":          {func(s *sealedLog) { s.seal(); s.reveal(1, other, 2*time.Hour) }, half, tlog.SealWrong, true},
		"another leaf":                      {func(s *sealedLog) { s.seal(); s.reveal(0, sealPreimage, half) }, half, tlog.SealWrong, true},
		"another pick was announced":        {func(s *sealedLog) { s.seal(); s.reveal(1, sealPreimage, half); s.pick(other) }, half, tlog.SealWrong, true},
		"another pick, announced first":     {func(s *sealedLog) { s.seal(); s.pick(other); s.reveal(1, sealPreimage, half) }, half, tlog.SealWrong, true},
		"a reveal of nothing":               {func(s *sealedLog) { s.reveal(1, sealPreimage, half) }, half, tlog.SealWrong, true},
		"two seals":                         {func(s *sealedLog) { s.seal(); s.seal(); s.reveal(1, sealPreimage, half) }, half, tlog.SealDoubled, true},
		"two reveals":                       {func(s *sealedLog) { s.seal(); s.reveal(1, sealPreimage, half); s.reveal(1, sealPreimage, half) }, half, tlog.SealDoubled, true},
		"no seal":                           {func(s *sealedLog) { s.pick(sealPreimage) }, half, tlog.SealAbsent, true},
		"the seal comes after the pick":     {func(s *sealedLog) { s.pick(sealPreimage); s.seal(); s.reveal(2, sealPreimage, half) }, half, tlog.SealAbsent, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sealedLog{t: t}
			s.genesis("2026-03-01")
			tt.do(s)
			list := s.days.Days(sealTime.Add(tt.now))
			if len(list) != 1 || list[0].Date != sealDay || list[0].Fault != tt.fault || list[0].Contradicts != tt.proof || (list[0].Text() == "") != (tt.fault == "") {
				t.Errorf("it says %+v, want %q", list, tt.fault)
			}
		})
	}
}

func TestPicksOfTheTimeBeforeSealsNeedNone(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]string{"a log that says since when": "2026-03-05", "a log that does not say": "none"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sealedLog{t: t}
			s.genesis(from)
			s.pick(sealPreimage)
			if list := s.days.Days(sealTime.AddDate(1, 0, 0)); len(list) != 0 {
				t.Errorf("%+v", list)
			}
		})
	}
}
