#!/bin/sh
# Creates the database of the accounting, which only the user slurm can use. Exit code 40: it could not be created.
set -eu
folder=/var/lib/slurm/database
[ ! -d $folder/mysql ] || exit 0
install -d -m 0700 -o slurm -g slurm $folder
mariadb-install-db --no-defaults --user=slurm --datadir=$folder --auth-root-authentication-method=socket --auth-root-socket-user=slurm \
  --skip-test-db > /tmp/capstan-database.$$ 2>&1 || {
  tail -n 20 /tmp/capstan-database.$$ >&2
  rm -rf $folder /tmp/capstan-database.$$
  echo 'error: the database could not be created' >&2
  exit 40
}
rm -f /tmp/capstan-database.$$
