package api_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/workers"
)

// rootOfHashes computes the root by the definition in RFC 6962, without the packages of the log.
func rootOfHashes(leaves [][]byte) []byte {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	sum := sha256.Sum256(slices.Concat([]byte{1}, rootOfHashes(leaves[:k]), rootOfHashes(leaves[k:])))
	return sum[:]
}

func TestTheLogIsServedAsFilesThatAnyoneCanCheck(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	o := p.everything()
	worker := p.worker
	const origin = "test.example/log"
	file := filepath.Join(t.TempDir(), "log.key")
	if err := workers.MakeLogKeys(file, origin); err != nil {
		t.Fatal(err)
	}
	keys, err := workers.ReadLogKeys(file, origin)
	if err != nil {
		t.Fatal(err)
	}
	key := keys[slices.IndexFunc(keys, func(k *workers.LogKey) bool { return k.Log == postgres.LogSources })]
	o.TransparencyLog = p.db
	server := api.New(o).Handler()
	accept := ""
	get := func(path string) (int, http.Header, []byte) {
		t.Helper()
		w := httptest.NewRecorder()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if accept != "" {
			r.Header.Set("Accept-Encoding", accept)
		}
		server.ServeHTTP(w, r)
		return w.Code, w.Header(), w.Body.Bytes()
	}
	if status, _, _ := get("/log/sources/checkpoint"); status != http.StatusNotFound {
		t.Errorf("before the log begins: %d", status)
	}
	if status, _, _ := get("/log/log-list.1"); status != http.StatusNotFound {
		t.Errorf("before a log begins its list is there: %d", status)
	}
	if err := worker.BeginLog(t.Context(), postgres.LogStart{Log: key.Log, Origin: key.Origin, VKey: key.VKey(), Environment: "demo"}); err != nil {
		t.Fatal(err)
	}
	for n := range 300 {
		sum := sha256.Sum256(fmt.Append(nil, n))
		if _, err := worker.RecordFetch(t.Context(), series.Fetch{
			Source: "s", URL: "https://upstream.example/x", Status: 200, FetchedAt: time.Unix(int64(1700000000+n), 0), SHA256: fmt.Sprintf("%x", sum), Bytes: 1,
		}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := worker.NumberLeaves(t.Context(), key.Log); err != nil {
		t.Fatal(err)
	}
	if _, _, err := worker.IntegrateLeaves(t.Context(), key.Log, key); err != nil {
		t.Fatal(err)
	}
	if status, _, list := get("/log/log-list.1"); status != http.StatusOK || string(list) != "logs/v0\nvkey "+key.VKey()+"\nqpd 1440\n" {
		t.Errorf("the list for networks of witnesses: %d %q", status, list)
	}
	status, header, note := get("/log/sources/checkpoint")
	if status != http.StatusOK || header.Get("Access-Control-Allow-Origin") != "*" {
		t.Fatalf("%d %s", status, note)
	}
	lines := strings.Split(string(note), "\n")
	size, err := strconv.Atoi(lines[1])
	if err != nil || lines[0] != origin+"/sources" || size < 301 {
		t.Fatalf("checkpoint %q", note)
	}
	// The hashes of the leaves from the bundles, and from the tiles.
	var fromBundles, fromTiles [][]byte
	for n := 0; n*256 < size; n++ {
		path := fmt.Sprintf("%03d", n)
		if w := size - n*256; w < 256 {
			path += fmt.Sprintf(".p/%d", w)
		}
		status, header, tile := get("/log/sources/tile/0/" + path)
		if status != http.StatusOK || !strings.Contains(header.Get("Cache-Control"), "immutable") {
			t.Fatalf("tile %s: %d", path, status)
		}
		for h := range slices.Chunk(tile, 32) {
			fromTiles = append(fromTiles, h)
		}
		_, _, bundle := get("/log/sources/tile/entries/" + path)
		for len(bundle) > 0 {
			n := int(bundle[0])<<8 | int(bundle[1])
			sum := sha256.Sum256(append([]byte{0}, bundle[2:2+n]...))
			fromBundles, bundle = append(fromBundles, sum[:]), bundle[2+n:]
		}
	}
	// Bundles are compressed for a client that takes that, and hashes never.
	_, header, plain := get("/log/sources/tile/entries/000")
	accept = "gzip"
	_, zipped, small := get("/log/sources/tile/entries/000")
	_, hashed, _ := get("/log/sources/tile/0/000")
	accept = ""
	gz, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := io.ReadAll(gz); err != nil || !bytes.Equal(whole, plain) || len(small)*3/2 > len(plain) {
		t.Errorf("%d bytes, compressed %d: %v", len(plain), len(small), err)
	}
	if header.Get("Content-Encoding") != "" || zipped.Get("Content-Encoding") != "gzip" || zipped.Get("Content-Length") != strconv.Itoa(len(small)) || hashed.Get("Content-Encoding") != "" ||
		!strings.Contains(strings.Join(header.Values("Vary"), ","), "Accept-Encoding") || !strings.Contains(strings.Join(zipped.Values("Vary"), ","), "Accept-Encoding") {
		t.Errorf("headers: %v; compressed %v; hashes %v", header, zipped, hashed)
	}
	for name, hashes := range map[string][][]byte{"bundles": fromBundles, "tiles": fromTiles} {
		if got := base64.StdEncoding.EncodeToString(rootOfHashes(hashes)); got != lines[2] || len(hashes) != size {
			t.Errorf("%s: the root of %d leaves is %s, and the checkpoint says %s", name, len(hashes), got, lines[2])
		}
	}
	if _, _, tile := get("/log/sources/tile/1/000.p/1"); !bytes.Equal(tile, rootOfHashes(fromTiles[:256])) {
		t.Error("the tile of level 1 is not that of level 0")
	}
	verifier, err := tlog.NewVerifier(key.VKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []int{0, 1, 255, 256, size - 1} {
		_, _, text := get(fmt.Sprintf("/log/sources/proof/%d.tlog-proof", index))
		_, _, leaf := get(fmt.Sprintf("/log/sources/leaf/%d", index))
		proof, err := tlog.ParseProof(text)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := tlog.Open(proof.Note, verifier)
		if err != nil {
			t.Fatal(err)
		}
		if err := proof.Check(opened.Checkpoint, tlog.LeafHash(proof.Extra)); err != nil || !bytes.Equal(leaf, proof.Extra) || len(text) > 2048 {
			t.Errorf("proof of %d, %d bytes: %v", index, len(text), err)
		}
	}
	for _, path := range []string{
		"", "tile/0/000.p/0", "tile/0/002", "tile/0/00", "tile/2/000.p/1", "tile/entries/001", fmt.Sprintf("proof/%d.tlog-proof", size), "proof/01.tlog-proof",
		"proof/-1.tlog-proof", "proof/x.tlog-proof", "leaf/9999", "checkpoint/", "checkpoint.witnessed", "../checkpoint.x", "tile/0/%30%30%30",
	} {
		if status, header, text := get("/log/sources/" + path); status != http.StatusNotFound && status < 300 || strings.Contains(header.Get("Cache-Control"), "immutable") {
			t.Errorf("%q: %d %q %.60s", path, status, header.Get("Cache-Control"), text)
		}
	}
	// Who asks for a file that is not there learns what is there, not that there is no log.
	for _, path := range []string{"tile/0/002", fmt.Sprintf("proof/%d.tlog-proof", size), "leaf/9999", "tree"} {
		if _, _, text := get("/log/sources/" + path); !strings.Contains(string(text), "has no file at this address") || !strings.Contains(string(text), "checkpoint") {
			t.Errorf("%q: %s", path, text)
		}
	}
	// The default proof shows since when the leaf exists. The newest one shows that it still exists.
	if err := worker.AddLogCosignatures(t.Context(), key.Log, int64(size), nil, true); err != nil {
		t.Fatal(err)
	}
	if _, err := worker.RecordFetch(t.Context(), series.Fetch{
		Source: "s", URL: "https://upstream.example/x", Status: 200, FetchedAt: time.Unix(1800000000, 0), SHA256: strings.Repeat("ab", 32), Bytes: 1,
	}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := worker.NumberLeaves(t.Context(), key.Log); err != nil {
		t.Fatal(err)
	}
	if _, _, err := worker.IntegrateLeaves(t.Context(), key.Log, key); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"proof/5.tlog-proof": size, "proof/newest/5.tlog-proof": size} {
		checkProof(t, get, path, want)
	}
	if err := worker.AddLogCosignatures(t.Context(), key.Log, int64(size)+1, nil, true); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"proof/5.tlog-proof": size, "proof/newest/5.tlog-proof": size + 1} {
		checkProof(t, get, path, want)
	}
}

// checkProof verifies a proof file of the sources against the size of its checkpoint. Only the file with the smallest size never changes.
func checkProof(t *testing.T, get func(string) (int, http.Header, []byte), path string, size int) {
	t.Helper()
	_, header, text := get("/log/sources/" + path)
	proof, err := tlog.ParseProof(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	checkpoint, err := tlog.ParseBody(tlog.SignedBody(proof.Note))
	if err != nil {
		t.Fatal(err)
	}
	if err := proof.Check(checkpoint, tlog.LeafHash(proof.Extra)); err != nil || checkpoint.Size != int64(size) {
		t.Errorf("%s is against size %d, want %d: %v", path, checkpoint.Size, size, err)
	}
	if got := strings.Contains(header.Get("Cache-Control"), "immutable"); got == strings.Contains(path, "newest") {
		t.Errorf("%s: %q", path, header.Get("Cache-Control"))
	}
}
