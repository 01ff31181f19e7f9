package chaos

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/internal/devchain"
	"tidemark/internal/task"
)

// How much of each attack is under way at a time.
const (
	slowConnections = 30 // of each kind of slowness
	paymentFlood    = 8  // clients that send bad payments without a pause
	claimKeys       = 5  // keys that claim transfers that never were
	// The attacker and the APIs share the machine. The pauses leave the APIs some of its time.
	attackPause = 100 * time.Millisecond
	dripEach    = 300 * time.Millisecond
	dialAgain   = time.Second
)

// attacker holds connections open and floods the paid endpoints. It sends its own client addresses, because the APIs trust loopback as a
// proxy.
type attacker struct {
	apis []*unit
	// payTo is who is paid.
	payTo string

	mu sync.Mutex
	// sent counts the attacks of each kind, answers the statuses with which floods are answered, cut the connections that an API closed.
	sent    map[string]int
	answers map[int]int
	cut     int
}

func newAttacker(apis []*unit) *attacker {
	return &attacker{
		apis: apis, payTo: devchain.Address(payeeAccount).Hex(), sent: map[string]int{}, answers: map[int]int{},
	}
}

// payeeAccount is the account of the development chain that is paid.
const payeeAccount = 8

// from is an address of the attacker.
func from(n int) string { return fmt.Sprintf("203.0.%d.%d", 113+n/250%20, 1+n%250) }

// slow are requests that never end, named after their slow part. head is sent at once; drip is sent piece by piece afterwards. ADDRESS and
// PAYMENT are replaced by an address and a payment of the attacker.
var slow = []struct{ name, head, drip string }{
	{"fields that drip", "GET /api/signals HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ADDRESS\r\n", "A: b\r\n"},
	{"bodies that drip", "POST /api/v1/auth/register HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ADDRESS\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n", " "},
	{"bodies that never come", "GET /api/v1/x402/picks HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ADDRESS\r\nX-PAYMENT: PAYMENT\r\nContent-Length: 10\r\n\r\n", neverComes},
	{"answers that nobody reads", strings.Repeat("GET /api/v1/verify/picks HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ADDRESS\r\n\r\n", 40), "\r\n"},
}

// neverComes means that nothing more is sent: the connection waits until the API closes it.
const neverComes = ""

// attack does everything at once until ctx ends.
func (a *attacker) attack(ctx context.Context) {
	var all sync.WaitGroup
	for i, s := range slow {
		for n := range slowConnections {
			all.Go(func() {
				for try := 0; ctx.Err() == nil; try++ {
					head := strings.NewReplacer("ADDRESS", from(i*slowConnections+n), "PAYMENT", a.payment()).Replace(s.head)
					a.hold(ctx, s.name, head, s.drip, a.apis[(n+try)%len(a.apis)])
					_ = sleep(ctx, dialAgain)
				}
			})
		}
	}
	for n := range paymentFlood {
		all.Go(func() {
			for i := 0; sleep(ctx, attackPause) == nil; i++ {
				a.pay(ctx, n*1000+i)
			}
		})
	}
	for n := range claimKeys {
		all.Go(func() { a.claim(ctx, n) })
	}
	all.Wait()
}

// hold opens a connection and keeps it for as long as the API lets it.
func (a *attacker) hold(ctx context.Context, name, head, drip string, u *unit) {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", strings.TrimPrefix(u.now().base, "http://"))
	if err != nil {
		return // it is being killed
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	a.count(name)
	if _, err := io.WriteString(c, head); err != nil {
		return
	}
	if drip == neverComes {
		_, _ = io.Copy(io.Discard, c)
	}
	for drip != neverComes && ctx.Err() == nil {
		if _, err := io.WriteString(c, drip); err != nil {
			break
		}
		_ = sleep(ctx, dripEach)
	}
	a.mu.Lock()
	if ctx.Err() == nil {
		a.cut++
	}
	a.mu.Unlock()
}

func (a *attacker) count(name string) {
	a.mu.Lock()
	a.sent[name]++
	a.mu.Unlock()
}

// flood sends a request from an address, and counts how it is answered.
func (a *attacker) flood(ctx context.Context, name, address string, r *http.Request) (body string) {
	r.Header.Set("X-Forwarded-For", address)
	a.count(name)
	resp, err := client.Do(r)
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	_ = resp.Body.Close()
	if ctx.Err() == nil {
		a.mu.Lock()
		a.answers[resp.StatusCode]++
		a.mu.Unlock()
	}
	return string(text)
}

// payment returns a well-formed payment whose signature belongs to no account.
func (a *attacker) payment() string {
	now := time.Now().Unix()
	payment, err := json.Marshal(map[string]any{
		"x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": map[string]any{
			"signature": "0x" + strings.Repeat("2d", 64) + "1b", "authorization": map[string]any{
				"from": devchain.Address(3).Hex(), "to": a.payTo, "value": "5000", "validAfter": fmt.Sprint(now - 600), "validBefore": fmt.Sprint(now + 60), "nonce": madeUp(),
			},
		},
	})
	if err != nil {
		panic(err) // texts and numbers
	}
	return base64.StdEncoding.EncodeToString(payment)
}

// pay presents a bad payment.
func (a *attacker) pay(ctx context.Context, n int) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.apis[n%len(a.apis)].now().base+"/api/v1/x402/picks", nil)
	if err != nil {
		return
	}
	r.Header.Set("X-PAYMENT", a.payment())
	a.flood(ctx, "bad payments", from(n), r)
}

// madeUp is a hash of nothing.
func madeUp() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "0x" + hex.EncodeToString(b[:])
}

// claim registers a key and claims transfers that never were.
func (a *attacker) claim(ctx context.Context, n int) {
	post := func(name, path, key string, body string) string {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.apis[n%len(a.apis)].now().base+path, strings.NewReader(body))
		if err != nil {
			return ""
		}
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		return a.flood(ctx, name, from(500+n), r)
	}
	var said struct {
		Data struct {
			Key string `json:"api_key"`
		} `json:"data"`
	}
	for said.Data.Key == "" && sleep(ctx, attackPause) == nil {
		_ = json.Unmarshal([]byte(post("registrations", "/api/v1/auth/register", "", `{"name":"attacker"}`)), &said)
	}
	var under sync.WaitGroup
	for range 4 {
		under.Go(func() {
			for sleep(ctx, attackPause) == nil {
				post("made-up claims", "/api/v1/payments/verify", said.Data.Key, `{"tx_hash":"`+madeUp()+`"}`)
			}
		})
	}
	under.Wait()
}

// forget lets the made-up claims end, which would wait for an hour.
func (s *cluster) forget() {
	s.t.Helper()
	s.query(`update payment_claims set expires_at = clock_timestamp() where state = 'pending' returning 1`)
	s.query(`update runs set next_try_at = clock_timestamp() where job = $1 and status = 'due' returning 1`, task.Claims)
}

// sample asks for a snapshot again and again for a while, and returns how long the 99th of a hundred answers took.
func sample(ctx context.Context, apis []*unit, lasts time.Duration, saw *seen) time.Duration {
	q := reads[1]
	var took []time.Duration
	for i, end := 0, time.Now().Add(lasts); time.Now().Before(end) && ctx.Err() == nil; i++ {
		u := apis[i%len(apis)]
		began := time.Now()
		a, err := ask(ctx, q, u.now().base, "", "")
		took = append(took, time.Since(began))
		if ctx.Err() == nil && (err != nil || a.status != http.StatusOK) {
			saw.mu.Lock()
			saw.complain("%s at %s: status %d, %v, while nothing is broken", q.name, u.name, a.status, err)
			saw.mu.Unlock()
		}
		_ = sleep(ctx, 4*time.Millisecond)
	}
	slices.Sort(took)
	if len(took) == 0 {
		return 0
	}
	return took[len(took)*99/100]
}

// sieges is how often the snapshots are measured, without the attacker and then with it. On a machine with other work a single pair of
// measurements shows little: the pair with the median ratio counts.
const sieges = 3

// siege holds the measurements before the first fault, without the attacker and with it.
type siege struct {
	attacked, ended time.Time
	// before and under are the 99th of a hundred snapshots without and with the attacker, of the pair that counts. ratios has all pairs.
	before, under time.Duration
	ratios        []float64
	// announced is the longest time from when an announcement was due until it was done, n how many there were.
	announcedBefore, announced time.Duration
	nBefore, n                 int
	attacker                   *attacker
}

// floor is a response time that the machine reaches at times even without an attack. The attacker shares the machine.
const floor = 50 * time.Millisecond

// besiege measures without the attacker and with it, in turn, each for a while. The last attack continues until ctx ends.
func (s *cluster) besiege(ctx context.Context, saw *seen, lasts time.Duration, clients *sync.WaitGroup) *siege {
	s.t.Helper()
	out := &siege{attacker: newAttacker(s.apis)}
	var pairs [][2]time.Duration
	pair := func(attack context.Context) {
		began := time.Now()
		before := sample(ctx, s.apis, lasts, saw)
		out.attacked = time.Now()
		longest, n := s.announcements(began, out.attacked)
		out.announcedBefore, out.nBefore = max(out.announcedBefore, longest), out.nBefore+n
		clients.Go(func() { out.attacker.attack(attack) })
		_ = sleep(ctx, time.Second) // the connections are there
		pairs = append(pairs, [2]time.Duration{before, sample(ctx, s.apis, lasts, saw)})
	}
	for range sieges - 1 {
		attack, calmed := context.WithCancel(ctx)
		pair(attack)
		calmed()
		clients.Wait()
	}
	pair(ctx)
	ratio := func(p [2]time.Duration) float64 { return float64(p[1]) / float64(max(1, p[0])) }
	slices.SortFunc(pairs, func(a, b [2]time.Duration) int { return cmp.Compare(ratio(a), ratio(b)) })
	out.before, out.under = pairs[sieges/2][0], pairs[sieges/2][1]
	for _, p := range pairs {
		out.ratios = append(out.ratios, ratio(p))
	}
	for patience := time.Now().Add(time.Minute); ; _ = sleep(ctx, 100*time.Millisecond) { // the world's days take some seconds
		out.ended = time.Now()
		if out.announced, out.n = s.announcements(out.attacked, out.ended); out.n > 0 || out.ended.After(patience) {
			break
		}
	}
	return out
}

// announcements are those between two instants at which nothing is broken: the longest time from due to done, by the database, and how many.
func (s *cluster) announcements(after, before time.Time) (longest time.Duration, n int) {
	s.t.Helper()
	for _, line := range s.query(`
		select (extract(epoch from finished_at - created_at) * 1e6)::bigint from runs
		where job = $1 and status = 'succeeded' and created_at >= $2 and finished_at <= $3`, task.Announce, after, before) {
		var micros int64
		if _, err := fmt.Sscan(line, &micros); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		longest, n = max(longest, time.Duration(micros)*time.Microsecond), n+1
	}
	return longest, n
}

// checkSiege compares the measurements with the promised limits. A machine that is too slow without the attacker shows nothing. Percentiles
// are only checked if percentiles is set: they need a machine without other work and time for the faults of all fixtures. Otherwise they
// are only reported.
func (s *cluster) checkSiege(g *siege, percentiles bool) {
	s.t.Helper()
	if percentiles && g.under > max(2*g.before, floor) {
		s.t.Errorf("the 99th of a hundred snapshots takes %s with the attacker, %s without", g.under, g.before)
	}
	if g.announced > max(time.Second, 2*g.announcedBefore) {
		s.t.Errorf("an announcement was done %s after it was due, while nothing but the attacker disturbed it", g.announced)
	}
	if g.n == 0 {
		s.t.Error("nothing was announced beside the attacker")
	}
	g.attacker.mu.Lock()
	defer g.attacker.mu.Unlock()
	for _, name := range []string{slow[0].name, slow[1].name, slow[2].name, slow[3].name, "bad payments", "made-up claims"} {
		if g.attacker.sent[name] < claimKeys {
			s.t.Errorf("the attacker sent only %d of %s", g.attacker.sent[name], name)
		}
	}
	for status, n := range g.attacker.answers {
		if status == http.StatusOK || status == http.StatusInternalServerError {
			s.t.Errorf("the attacker was answered %d times with %d", n, status)
		}
	}
}

// String is a line of the report.
func (g *siege) String() string {
	g.attacker.mu.Lock()
	defer g.attacker.mu.Unlock()
	return fmt.Sprintf("%v sent, %v answered, %d connections cut; p99 of a snapshot %s without it, %s with it (ratios %.2f); announcements done within %s (%d) without it, %s (%d) with it",
		g.attacker.sent, g.attacker.answers, g.attacker.cut, g.before.Round(10*time.Microsecond), g.under.Round(10*time.Microsecond), g.ratios,
		g.announcedBefore.Round(time.Millisecond), g.nBefore, g.announced.Round(time.Millisecond), g.n)
}
