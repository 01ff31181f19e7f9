package base

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// SignedBy reports whether signature, in hex, is the account's signature of the text by EIP-191. It only knows accounts with their own
// key; CheckProof also knows contract wallets.
func SignedBy(account common.Address, message, signature string) bool {
	sig, err := hexutil.Decode(signature)
	return err == nil && recovers(account, personalHash(message), sig)
}
