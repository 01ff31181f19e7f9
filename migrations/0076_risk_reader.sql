-- A report is read again by each version of the reader of risk factors, and the newest reading counts.

-- +goose Up
alter table risk_factors add column reader int not null default 1 check (reader > 0);
alter table risk_factors alter column reader drop default;
alter table risk_factors drop constraint risk_factors_pkey, add primary key (cik, accession, reader);

-- +goose Down
alter table risk_factors disable trigger append_only;
delete from risk_factors r using risk_factors s where s.cik = r.cik and s.accession = r.accession and s.reader > r.reader;
alter table risk_factors enable trigger append_only;
alter table risk_factors drop constraint risk_factors_pkey, add primary key (cik, accession);
alter table risk_factors drop column reader;
