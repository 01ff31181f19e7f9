package main

import (
	"fmt"
	"os"
	"path/filepath"

	"tidemark/internal/devchain"
)

// attesterAccount is the account of the development chain that attests.
const attesterAccount = 0

// startDevChain starts the sandbox's development chain, kept in the world's folder, and makes it the L2 of the settings, with an
// attester whose key everyone knows.
func (p *program) startDevChain() error {
	c, err := devchain.Start(devchain.Options{Dir: filepath.Join(p.worldDir(), "chain"), Origins: []string{"*"}})
	if err != nil {
		return err
	}
	p.settings.BaseRPCURL, p.settings.BaseChainID = c.URL(), c.ID().Uint64()
	p.settings.EASAddress, p.settings.EASSchemaRegistry = devchain.EASAddress.Hex(), devchain.SchemaRegistryAddress.Hex()
	if p.settings.AttesterKeyFile == "" {
		file, err := filepath.Abs(filepath.Join(p.worldDir(), "attester.key"))
		if err != nil {
			return fmt.Errorf("STATE_DIR: %w", err)
		}
		if err := os.WriteFile(file, []byte(devchain.KeyHex(attesterAccount)+"\n"), 0o600); err != nil {
			_ = c.Close()
			return fmt.Errorf("write the attester's key (STATE_DIR): %w", err)
		}
		p.settings.AttesterKeyFile = file
	}
	p.dev = c
	return nil
}
