#!/usr/bin/env bash
# Writes a backup of an installation into a new folder: DATABASE_URL as pg_dump writes it, and of STATE_DIR's world the archive of raw
# bytes and the git ledger, where they are there. Run it while everything goes on: the dump is of one instant, and the archive is copied
# after it, so that every fetch in the dump has its bytes. See docs/operator.md for the way back.
set -euo pipefail
[ $# = 1 ] || { echo "usage: DATABASE_URL=... [STATE_DIR=...] [WORLD=...] tools/backup.sh FOLDER" >&2; exit 2; }
: "${DATABASE_URL:?set DATABASE_URL}"
to=$1 state=${STATE_DIR:-.tidemark}/${WORLD:-live}
[ ! -e "$to" ] || { echo "$to is there already" >&2; exit 1; }
umask 077
mkdir -p "$to.partial"
pg_dump --format=custom --no-owner --file="$to.partial/database.dump" --dbname="$DATABASE_URL"
for part in archive ledger.git; do
	[ ! -d "$state/$part" ] || tar -C "$state" -cf "$to.partial/$part.tar" "$part"
done
(cd "$to.partial" && sha256sum -- * >SHA256SUMS)
mv "$to.partial" "$to" # whole, or not there
echo "backed up to $to"
