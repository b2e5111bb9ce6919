#!/bin/sh
# Is the program of a service of this member, in the foreground.
# Arguments: the service; the address of the member for slurm-munge, and that of the controller with its port for slurm-node.
set -eu
. ./common.sh
service=$1

# Folders below /run vanish when the machine restarts, and the agent starts the services without us then.
folder() { install -d -m 0755 -o "$2" -g "$2" "$1"; }
as() {
  user=$1
  shift
  exec setpriv --reuid="$user" --regid="$user" --init-groups "$@"
}

# The probe reports services that end again and again. A full disk is no reason not to start.
starts=/run/slurm-starts
mkdir -p $starts || true
{ tail -n 19 "$starts/$service" 2> /dev/null; date +%s; } > "$starts/$service.new" && mv "$starts/$service.new" "$starts/$service" || true

case $service in
  slurm-munge)
    folder /run/munge munge
    # Without an origin, munged waits for the name service, which may not know this machine.
    as munge /usr/sbin/munged --foreground --num-threads=10 --origin="$2"
    ;;
  slurm-database)
    folder /run/slurm-database slurm
    # Slurm asks for the settings of InnoDB and of packets.
    as slurm /usr/sbin/mariadbd --no-defaults --datadir=/var/lib/slurm/database --socket=/run/slurm-database/socket \
      --pid-file=/run/slurm-database/pid --skip-networking --innodb-lock-wait-timeout=900 --max-allowed-packet=16M \
      --innodb-buffer-pool-size=256M --loose-innodb-snapshot-isolation=OFF
    ;;
  slurm-accounting)
    folder /run/slurm-database slurm
    export MYSQL_UNIX_PORT=/run/slurm-database/socket
    as slurm /usr/sbin/slurmdbd -D
    ;;
  slurm-controller) exec /usr/sbin/slurmctld -D ;;
  # A node gets its configuration from the controller, at its start and whenever the controller is told to. It has no log before, unless it is named here.
  slurm-node) exec /usr/sbin/slurmd -D -L $logs/slurmd.log --conf-server "$2" ;;
  *) fail 2 "there is no service $service" ;;
esac
