package base

import (
	"bytes"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// Signer holds the attester's private key. However it is printed or logged, it shows the address alone.
type Signer struct {
	key     *ecdsa.PrivateKey
	address common.Address
}

// LoadSigner reads a key from a file: 64 hex digits, or an encrypted keystore (version 3), whose password is then the first line of
// the other file. Both files must be readable by their owner only.
func LoadSigner(keyFile, passwordFile string) (*Signer, error) {
	b, err := private(keyFile)
	if err != nil {
		return nil, fmt.Errorf("the attester's key: %w", err)
	}
	defer clear(b)
	text := bytes.TrimSpace(b)
	if !bytes.HasPrefix(text, []byte("{")) {
		// The error of the decoder would show what it could not read.
		key, err := crypto.HexToECDSA(strings.TrimPrefix(string(text), "0x"))
		if err != nil {
			return nil, fmt.Errorf("the attester's key: %s holds neither 64 hex digits of a private key nor a keystore", keyFile)
		}
		return NewSigner(key), nil
	}
	if passwordFile == "" {
		return nil, fmt.Errorf("the attester's key: %s is an encrypted keystore and no file with its password is named", keyFile)
	}
	p, err := private(passwordFile)
	if err != nil {
		return nil, fmt.Errorf("the password of the attester's key: %w", err)
	}
	defer clear(p)
	password, _, _ := strings.Cut(string(p), "\n")
	k, err := keystore.DecryptKey(text, strings.TrimSuffix(password, "\r"))
	if err != nil {
		return nil, fmt.Errorf("the attester's key: open the keystore %s: %w", keyFile, err)
	}
	return NewSigner(k.PrivateKey), nil
}

// NewSigner makes a signer of a key.
func NewSigner(key *ecdsa.PrivateKey) *Signer {
	return &Signer{key: key, address: crypto.PubkeyToAddress(key.PublicKey)}
}

// private reads a file that only its owner can read.
func private(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %#o): make it 0600", path, info.Mode().Perm())
	}
	if info.Size() > 1<<16 {
		return nil, errors.New("it is too long for a key")
	}
	b := make([]byte, info.Size())
	n, err := f.Read(b)
	if err != nil && info.Size() > 0 {
		return nil, err
	}
	return b[:n], nil
}

// Address is the account of the key.
func (s *Signer) Address() common.Address { return s.address }

// String shows the address.
func (s *Signer) String() string { return s.address.Hex() }

// GoString shows the address, for %#v.
func (s *Signer) GoString() string { return "base.Signer(" + s.address.Hex() + ")" }

// Format shows the address for every verb.
func (s *Signer) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.address.Hex())) }

// LogValue shows the address.
func (s *Signer) LogValue() slog.Value { return slog.StringValue(s.address.Hex()) }

// MarshalText shows the address, so that no encoder looks inside.
func (s *Signer) MarshalText() ([]byte, error) { return []byte(s.address.Hex()), nil }

// sign signs a transaction. The same transaction gives the same signature.
func (s *Signer) sign(chainID uint64, tx *types.DynamicFeeTx) (*types.Transaction, error) {
	tx.ChainID = new(big.Int).SetUint64(chainID)
	return types.SignNewTx(s.key, types.LatestSignerForChainID(tx.ChainID), tx)
}
