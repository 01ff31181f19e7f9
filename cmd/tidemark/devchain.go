package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tidemark/internal/devchain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// attesterAccount is the account of the development chain that attests.
const attesterAccount = 0

// startDevChain starts the sandbox's development chain in the world's folder, and makes it the L2 of the settings. Its attester has a
// publicly known key.
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

// connectDevChain adapts the record to the running development chain: attestations on an earlier chain that was lost become void. In a
// sandbox in the present, it makes the ledger and the attestation due at once. A sandbox that simulates its past does that when it reaches
// the present.
func (p *program) connectDevChain(ctx context.Context, db *postgres.DB, w *worldRuntime) error {
	if p.dev == nil {
		return nil
	}
	if p.dev.Fresh() {
		n, err := db.VoidAttestations(ctx, p.settings.BaseChainID)
		if err != nil {
			return err
		}
		if n > 0 {
			p.log.WarnContext(ctx, "the development chain began anew, the attestations on the old one are void", "attestations", n)
		}
	}
	if w.catchingUp {
		return nil
	}
	return p.attestNow(ctx, db, "the development chain runs again")
}

// attestNow makes the ledger and the attestation due.
func (p *program) attestNow(ctx context.Context, db *postgres.DB, reason string) error {
	at, err := p.worldTime(ctx, db)
	if err != nil {
		return err
	}
	for _, job := range []struct{ name, subject string }{{task.Ledger, task.SubjectLedger}, {task.Attest, task.SubjectAttest}} {
		if _, err := db.AddRun(ctx, job.name, job.subject, at, reason); err != nil && !errors.Is(err, postgres.ErrUnderWay) {
			return err
		}
	}
	return nil
}
