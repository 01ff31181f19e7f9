package main

import (
	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
	"tidemark/workers"
)

// newWebhooks returns the job that sends to the webhooks of keys.
func (p *program) newWebhooks(db *postgres.DB) workers.Webhooks {
	return workers.Webhooks{DB: db, Now: p.now, Sender: pushes.NewSender(pushes.SenderOptions{
		Private: p.settings.WebhooksPrivate, Agent: "Tidemark (+" + p.settings.BaseURL() + ")", Now: p.now,
	})}
}

// newMatcher returns what compares changes with the rules of keys.
func (p *program) newMatcher(db *postgres.DB) *workers.Matcher {
	return &workers.Matcher{DB: db, Log: p.log.With("role", "worker"), Metrics: p.metrics, Origin: pushes.Origin{
		PublicURL: p.settings.BaseURL(), Environment: p.environment(), Sandbox: p.settings.World == "sandbox", Round: postgres.Rounded,
		Free: p.settings.FreePages(p.settings.World),
	}}
}
