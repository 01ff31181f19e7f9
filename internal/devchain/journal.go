package devchain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// journal is the file of a chain: a line of JSON for the first block and one per further block, in the order in which they were made.
// A chain in memory has a nil journal.
type journal struct{ file *os.File }

// firstLine identifies the chain of the file.
type firstLine struct {
	ChainID uint64      `json:"chain_id"`
	First   common.Hash `json:"first_block"`
}

// blockLine is a block. A repeated number means a reorganisation: the block replaces the blocks from that number on.
type blockLine struct {
	Number uint64          `json:"number"`
	Hash   common.Hash     `json:"hash"`
	Time   uint64          `json:"time"`
	Txs    []hexutil.Bytes `json:"transactions"`
}

// openJournal opens the folder's journal for this process alone and replays it.
func (c *Chain) openJournal(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, "blocks.jsonl")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	// The kernel releases the lock when the process ends for any reason.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another process has the chain in %s: %w", dir, err)
	}
	end, err := c.replay(f)
	if err != nil {
		return fmt.Errorf("read the chain in %s: %w", path, err)
	}
	// A line that a killed process did not finish is not a block.
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		return err
	}
	c.journal = &journal{f}
	if end == 0 {
		return c.journal.write(firstLine{c.config.ChainID.Uint64(), c.blocks[0].hash})
	}
	return nil
}

// replay runs the lines of a file and returns where the last complete line ends.
func (c *Chain) replay(f *os.File) (end int64, err error) {
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		if end == 0 {
			err = c.knows(line)
		} else {
			err = c.again(line)
		}
		if err != nil {
			return 0, err
		}
		end += int64(len(line))
	}
}

// knows returns an error if the file's chain does not begin like this one.
func (c *Chain) knows(line []byte) error {
	var first firstLine
	if err := json.Unmarshal(line, &first); err != nil {
		return err
	}
	if id := c.config.ChainID.Uint64(); first.ChainID != id {
		return fmt.Errorf("it is the chain with the id %d, not %d", first.ChainID, id)
	}
	if first.First != c.blocks[0].hash {
		return errors.New("it began with other contracts or accounts than this program's: remove it to begin again")
	}
	return nil
}

// again makes the block of a line again.
func (c *Chain) again(line []byte) error {
	var l blockLine
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	if l.Number == 0 || l.Number > uint64(len(c.blocks)) {
		return fmt.Errorf("block %d does not follow the one before it", l.Number)
	}
	c.rewind(int(l.Number))
	c.orphans = nil
	txs := make([]*types.Transaction, len(l.Txs))
	for i, raw := range l.Txs {
		txs[i] = new(types.Transaction)
		if err := txs[i].UnmarshalBinary(raw); err != nil {
			return fmt.Errorf("block %d: %w", l.Number, err)
		}
	}
	b, err := c.build(l.Time, txs)
	if err != nil {
		return fmt.Errorf("block %d: %w", l.Number, err)
	}
	if b.hash != l.Hash {
		return fmt.Errorf("block %d is now %s and was %s: remove the file to begin again", l.Number, b.hash, l.Hash)
	}
	c.add(b)
	return nil
}

// append writes a block, and returns once it is on disk.
func (j *journal) append(b *block) error {
	if j == nil {
		return nil
	}
	l := blockLine{Number: b.number(), Hash: b.hash, Time: b.header.Time, Txs: make([]hexutil.Bytes, len(b.txs))}
	for i, tx := range b.txs {
		raw, err := tx.MarshalBinary()
		if err != nil {
			return err
		}
		l.Txs[i] = raw
	}
	return j.write(l)
}

func (j *journal) write(line any) error {
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(line); err != nil {
		return err
	}
	end, err := j.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if _, err = j.file.Write(text.Bytes()); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		// Remove the partial line before the next one is written.
		_, back := j.file.Seek(end, io.SeekStart)
		return errors.Join(err, j.file.Truncate(end), back)
	}
	return nil
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
