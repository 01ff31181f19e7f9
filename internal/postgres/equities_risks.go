package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/internal/equity"
	"tidemark/picks"
)

const addRisksSQL = `
	insert into risk_factors (cik, accession, reader, known_at, state, by_paragraph, risks, words, fetch_id)
	values (@cik, @accession, @reader, @known_at, @state, @by_paragraph, @risks, @words, @fetch_id)
	on conflict do nothing`

// addRisks stores what reports say of risks. A document does not change, so what one version of the reader has read stays.
func addRisks(ctx context.Context, tx pgx.Tx, l EquityLoad) (added int64, err error) {
	var batch pgx.Batch
	for _, r := range l.Risks {
		batch.Queue(addRisksSQL, pgx.NamedArgs{
			"cik": int64(r.CIK), "accession": r.Accession, "reader": r.Reader, "known_at": l.Fetch.FetchedAt, "state": string(r.State), "by_paragraph": r.ByParagraph,
			"risks": nonNil(r.Risks), "words": r.Words, "fetch_id": l.Fetch.ID,
		}).Exec(func(t pgconn.CommandTag) error { added += t.RowsAffected(); return nil })
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return 0, fmt.Errorf("add risk factors: %w", err)
	}
	return added, nil
}

// Selects the newest edition of each report, and what the newest reader read of it.
const riskReportsSQL = `
	select r.cik, r.accession, r.reader, r.state, r.by_paragraph, r.risks, r.words, r.known_at, f.form, f.filed, f.period, f.url
	from (
		select distinct on (cik, accession) * from risk_factors where cik = any(@ciks) order by cik, accession, reader desc
	) r
	join lateral (
		select f.form, f.filed, f.period, f.url
		from filings f
		where f.cik = r.cik and f.accession = r.accession
		order by f.edition desc
		limit 1
	) f on true
	order by r.cik, f.filed, r.accession` // primary keys

// RiskReports returns what reports of companies say of risks, by the date of the report.
func (db EquityStore) RiskReports(ctx context.Context, ids []equity.CIK) (map[equity.CIK][]picks.RiskReport, error) {
	rows, err := db.reads.Query(ctx, riskReportsSQL, pgx.NamedArgs{"ciks": numbers(ids)})
	if err != nil {
		return nil, fmt.Errorf("read risk factors: %w", asUnavailable(err))
	}
	of := map[equity.CIK][]picks.RiskReport{}
	for rows.Next() {
		var r picks.RiskReport
		var period *time.Time
		if err := rows.Scan(&r.CIK, &r.Accession, &r.Reader, &r.State, &r.ByParagraph, &r.Risks, &r.Words, &r.KnownAt, &r.Filing.Form, &r.Filing.Filed, &period, &r.Filing.URL); err != nil {
			rows.Close()
			return nil, fmt.Errorf("read risk factors: %w", asUnavailable(err))
		}
		r.Filing.CIK, r.Filing.Accession, r.Filing.Period = r.CIK, r.Accession, orZero(period)
		of[r.CIK] = append(of[r.CIK], r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read risk factors: %w", asUnavailable(err))
	}
	return of, nil
}

// RiskCounts returns how often the risk factors of each company's reports were read. The number grows with each report, and when one is read again.
func (db EquityStore) RiskCounts(ctx context.Context) (map[equity.CIK]int, error) {
	rows, err := db.reads.Query(ctx, `select cik, count(*) from risk_factors group by cik`)
	if err != nil {
		return nil, fmt.Errorf("count risk factors: %w", asUnavailable(err))
	}
	counts := map[equity.CIK]int{}
	for rows.Next() {
		var cik equity.CIK
		var n int
		if err := rows.Scan(&cik, &n); err != nil {
			rows.Close()
			return nil, fmt.Errorf("count risk factors: %w", asUnavailable(err))
		}
		counts[cik] = n
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("count risk factors: %w", asUnavailable(err))
	}
	return counts, nil
}
