package timestamp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"time"
)

const (
	// askTimeout limits the time of a request to an authority.
	askTimeout = 10 * time.Second
	// maxSkew is how far the time of a new stamp may be from the clock of the asker.
	maxSkew = 5 * time.Minute
)

// Client asks an authority for time stamps. It follows no redirect.
type Client struct {
	// URL is the authority's address.
	URL string
	// Roots are the trusted certificates. Nil means the system's.
	Roots *x509.CertPool
	// Now is the wall clock.
	Now func() time.Time
	// Transport sends the requests. Timeout limits each; zero means ten seconds.
	Transport http.RoundTripper
	Timeout   time.Duration
}

// ReadRoots reads a file of certificates in PEM. Without a file it returns nil: the roots of the system.
func ReadRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // as said
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return pool, nil
}

// query makes the DER of a request. The authority must repeat the nonce, and send its certificate along.
func query(text []byte, nonce *big.Int) ([]byte, error) {
	sum := sha256.Sum256(text)
	return asn1.Marshal(struct {
		Version int
		Imprint imprint
		Nonce   *big.Int
		CertReq bool
	}{1, imprint{pkix.AlgorithmIdentifier{Algorithm: oidSHA256, Parameters: asn1.NullRawValue}, sum[:]}, nonce, true})
}

// Ask has a text stamped. It returns the whole answer, which Check takes, and what it states. Nothing unchecked is returned.
func (c Client) Ask(ctx context.Context, text []byte) ([]byte, Stamp, error) {
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, Stamp{}, err
	}
	body, err := query(text, nonce)
	if err != nil {
		return nil, Stamp{}, err
	}
	answer, err := c.send(ctx, body)
	if err != nil {
		return nil, Stamp{}, err
	}
	s, err := Check(answer, text, c.Roots)
	if err != nil {
		return nil, Stamp{}, err
	}
	if s.nonce == nil || s.nonce.Cmp(nonce) != 0 {
		return nil, Stamp{}, errors.New("the time stamp answers another request: its nonce is not the one that was sent")
	}
	if off := s.At.Sub(c.Now()).Abs(); off > maxSkew {
		return nil, Stamp{}, fmt.Errorf("the time stamp is of %s, and the clock here differs by %s", s.At.Format(time.RFC3339), off.Round(time.Second))
	}
	return answer, s, nil
}

func (c Client) send(ctx context.Context, body []byte) ([]byte, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = askTimeout
	}
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the time-stamp authority: %w", err)
	}
	req.Header.Set("Content-Type", "application/timestamp-query")
	req.Header.Set("Accept", "application/timestamp-reply")
	asker := http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := asker.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the time-stamp authority: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the time-stamp authority answers %s", resp.Status)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, MaxReply+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer of the time-stamp authority: %w", err)
	}
	if len(answer) > MaxReply {
		return nil, fmt.Errorf("the time-stamp authority answers with more than %d bytes", MaxReply)
	}
	return answer, nil
}
