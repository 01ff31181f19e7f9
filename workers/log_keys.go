package workers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"tidemark/chain/tlog"
	"tidemark/chain/witness"
	"tidemark/internal/postgres"
)

// LogKey signs the checkpoints of one log, and remembers the largest in a file.
type LogKey struct {
	// Log is the log's name, Origin what it is called outside.
	Log, Origin string
	// signers are the log's keys: the announced key, then older keys that also sign.
	signers []*tlog.Signer
	mark    string
}

// LogOrigins are the origins of the logs of an installation.
func LogOrigins(origin string) map[string]string {
	return map[string]string{postgres.LogRecord: origin, postgres.LogSources: origin + "/sources"}
}

// MakeLogKeys writes a file with new keys for the logs of an origin, mode 0600. A file that is there is left as it is.
func MakeLogKeys(path, origin string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var text []byte
	for _, log := range []string{postgres.LogRecord, postgres.LogSources} {
		keys, err := tlog.NewLogKey(rand.Reader, LogOrigins(origin)[log])
		if err != nil {
			return err
		}
		text = append(text, keys.Private+"\n"...)
	}
	if err := witness.WriteFile(path, text); err != nil {
		return fmt.Errorf("write the keys of the log: %w", err)
	}
	return nil
}

// ReadLogKeys reads the keys of the logs of an origin: one private key a line, whose name is the origin of its log. The first key of a
// log signs, and the keys below it also sign. The files that remember the largest checkpoints are in the same folder.
func ReadLogKeys(path, origin string) ([]*LogKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("LOG_KEY_FILE (`tidemark log key` makes one): %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("LOG_KEY_FILE: %s can be read by others: chmod 600", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("LOG_KEY_FILE: %w", err)
	}
	var keys []*LogKey
	for _, log := range []string{postgres.LogRecord, postgres.LogSources} {
		k := &LogKey{Log: log, Origin: LogOrigins(origin)[log], mark: path + "." + log}
		for line := range strings.SplitSeq(string(text), "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			s, err := tlog.NewSigner(line)
			if err != nil {
				return nil, fmt.Errorf("LOG_KEY_FILE: %w", err)
			}
			if s.Origin() == k.Origin {
				k.signers = append(k.signers, s)
			}
		}
		if len(k.signers) == 0 {
			return nil, fmt.Errorf("LOG_KEY_FILE: it has no key of %s", k.Origin)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// VKey is the announced public key; OldVKeys are the older keys that also sign.
func (k *LogKey) VKey() string { return k.signers[0].VKey() }

// OldVKeys are the older public keys that sign in addition to the announced one.
func (k *LogKey) OldVKeys() (list []string) {
	for _, s := range k.signers[1:] {
		list = append(list, s.VKey())
	}
	return list
}

// Sign implements postgres.LogSigner.
func (k *LogKey) Sign(size int64, root tlog.Hash) ([]byte, error) {
	var out []byte
	for i, s := range k.signers {
		signed, err := s.Sign(size, root)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			signed = signed[len(tlog.SignedBody(signed))+1:]
		}
		out = append(out, signed...)
	}
	return out, nil
}

// Mark implements postgres.LogSigner. A file that is there and cannot be read is an error.
func (k *LogKey) Mark() (size int64, root tlog.Hash, err error) {
	text, err := os.ReadFile(k.mark)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, root, nil
	}
	if err != nil {
		return 0, root, fmt.Errorf("read the largest size that was signed: %w", err)
	}
	number, hash, ok := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
	size, err = strconv.ParseInt(number, 10, 64)
	if err == nil {
		root, err = tlog.ParseHash(hash)
	}
	if !ok || err != nil || size < 1 {
		return 0, root, fmt.Errorf("%s is not a size and a root", k.mark)
	}
	return size, root, nil
}

// SetMark implements postgres.LogSigner.
func (k *LogKey) SetMark(size int64, root tlog.Hash) error {
	if err := witness.WriteFile(k.mark, fmt.Appendf(nil, "%d %s\n", size, root)); err != nil {
		return fmt.Errorf("remember the size before it is signed: %w", err)
	}
	return nil
}
