#!/usr/bin/env bash
# Restores a backup of tools/backup.sh into an empty database, DATABASE_URL, and a STATE_DIR in which the world has nothing yet. Schedulers
# and workers are started afterwards: they catch up on what was missed since.
set -euo pipefail
[ $# = 1 ] || { echo "usage: DATABASE_URL=... [STATE_DIR=...] [WORLD=...] tools/restore.sh FOLDER" >&2; exit 2; }
: "${DATABASE_URL:?set DATABASE_URL}"
from=$(cd "$1" && pwd) state=${STATE_DIR:-.tidemark}/${WORLD:-live}
(cd "$from" && sha256sum --quiet --check SHA256SUMS) || { echo "the backup is damaged" >&2; exit 1; }
for part in archive ledger.git; do
	[ ! -e "$from/$part.tar" ] || [ ! -e "$state/$part" ] || { echo "$state/$part is there already" >&2; exit 1; }
done
# The roles are the server's, not the database's: a new server does not have them.
for role in tidemark_worker tidemark_api; do
	psql --quiet --no-psqlrc --dbname="$DATABASE_URL" --set=ON_ERROR_STOP=1 --command="
		do \$\$ begin create role $role nologin; exception when duplicate_object then null; end \$\$;
		do \$\$ begin if not pg_has_role(current_user, '$role', 'member') then grant $role to current_user; end if; end \$\$" >/dev/null
done
# All or nothing. Triggers come after the rows, which they would refuse: none of today's picks is of today then.
pg_restore --no-owner --exit-on-error --single-transaction --dbname="$DATABASE_URL" "$from/database.dump"
mkdir -p "$state"
for part in archive ledger.git; do
	[ ! -e "$from/$part.tar" ] || tar -C "$state" -xf "$from/$part.tar"
done
echo "restored from $from; look with \`tidemark doctor\`, then start the scheduler"
