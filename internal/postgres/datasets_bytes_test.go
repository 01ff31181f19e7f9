package postgres

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
)

func TestAPartOfAFileReadsFewBlocksOfIt(t *testing.T) {
	t.Parallel()
	c, err := pgx.Connect(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	body := make([]byte, 4<<20)
	_, _ = rand.Read(body)
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	if _, err := c.Exec(t.Context(), `insert into dataset_files (sha256, content) values ($1, $2)`, digest, body); err != nil {
		t.Fatal(err)
	}
	// blocks returns how many blocks of 8 kB Postgres touches to read a part.
	blocks := func(from, n int) int {
		t.Helper()
		var plan []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		args := pgx.NamedArgs{"sha256": digest, "from": from, "n": n}
		if err := c.QueryRow(t.Context(), `explain (analyze, buffers, format json) `+datasetBytesSQL, args).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		return plan[0].Plan.Hit + plan[0].Plan.Read
	}
	whole, footer := blocks(0, len(body)), blocks(len(body)-8, 8)
	if whole < len(body)/8192 || footer > 20 {
		t.Errorf("the whole file touches %d blocks, want %d at least; its last 8 bytes touch %d, want 20 at most", whole, len(body)/8192, footer)
	}
}
