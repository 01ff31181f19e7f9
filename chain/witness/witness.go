// Package witness implements C2SP's tlog-witness: a client that requests cosignatures of checkpoints, and a server that cosigns them and
// refuses forks. The server keeps one file a log, and needs no database. Start at Server.
package witness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"tidemark/chain/tlog"
)

const (
	// maxRequest bounds a request, maxResponse an answer, in bytes.
	maxRequest  = 16 << 10
	maxResponse = 16 << 10
	// maxProof is the most hashes that a proof of consistency has.
	maxProof = 63
	// typeSize is the media type of a size that conflicts.
	typeSize = "text/x.tlog.size"
)

// ConflictError says that the witness has another size than the client believes.
type ConflictError struct{ Size int64 }

func (e *ConflictError) Error() string { return fmt.Sprintf("the witness has size %d", e.Size) }

// ErrRefused says that the witness will not cosign the checkpoint: to send it again does not help.
var ErrRefused = errors.New("the witness refuses the checkpoint")

// Client has checkpoints cosigned. It follows no redirect.
type Client struct{ http *http.Client }

// NewClient returns a client that sends by a transport.
func NewClient(transport http.RoundTripper) *Client {
	return &Client{&http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Add sends a signed checkpoint, with the proof that it continues the size which the witness has, and returns the signature lines of the
// answer. Nothing of them is checked. A *ConflictError names the size that the witness has; ErrRefused is final; all else passes.
func (c *Client) Add(ctx context.Context, prefix string, old int64, proof []tlog.Hash, checkpoint []byte) (lines []string, err error) {
	body := fmt.Appendf(nil, "old %d\n", old)
	for _, h := range proof {
		body = append(base64.StdEncoding.AppendEncode(body, h[:]), '\n')
	}
	body = append(append(body, '\n'), checkpoint...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(prefix, "/")+"/add-checkpoint", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask a witness: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask a witness: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, fmt.Errorf("read the answer of a witness: %w", err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		for l := range strings.SplitAfterSeq(string(text), "\n") {
			if strings.HasSuffix(l, "\n") {
				lines = append(lines, l)
			}
		}
		return lines, nil
	case http.StatusConflict:
		n, err := strconv.ParseInt(strings.TrimSuffix(string(text), "\n"), 10, 64)
		if resp.Header.Get("Content-Type") == typeSize && err == nil && n >= 0 && n != old {
			return nil, &ConflictError{n}
		}
		// Older witnesses answer so where the size is the same and the root another: never to be tried again.
		return nil, fmt.Errorf("%w: 409 without another size", ErrRefused)
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity:
		return nil, fmt.Errorf("%w: %s", ErrRefused, resp.Status)
	}
	return nil, fmt.Errorf("a witness answers %s", resp.Status)
}

// addRequest is a request to cosign.
type addRequest struct {
	old        int64
	proof      []tlog.Hash
	checkpoint []byte
}

// parseAdd reads the body of add-checkpoint.
func parseAdd(body []byte) (r addRequest, err error) {
	in := bufio.NewReader(bytes.NewReader(body))
	first, err := in.ReadString('\n')
	size, ok := strings.CutPrefix(first, "old ")
	size = strings.TrimSuffix(size, "\n")
	if r.old, _ = strconv.ParseInt(size, 10, 64); err != nil || !ok || r.old < 0 || strconv.FormatInt(r.old, 10) != size {
		return r, errors.New("the first line is not an old size")
	}
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return r, errors.New("the checkpoint is missing")
		}
		if text == "\n" {
			break
		}
		h, err := tlog.ParseHash(strings.TrimSuffix(text, "\n"))
		if err != nil || len(r.proof) == maxProof {
			return r, errors.New("the proof is not one of hashes")
		}
		r.proof = append(r.proof, h)
	}
	r.checkpoint, err = io.ReadAll(in)
	return r, err
}
