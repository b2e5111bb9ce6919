import type { AgentArchive } from '@capstan/api';

/**
 * The script that makes a bare machine a node. It is fetched over TLS with the authority that the join command pins, and pins the archives in turn. It needs a
 * POSIX shell, curl, tar, gzip and the usual small programs of Debian and Ubuntu.
 */
export function installScript(archives: readonly AgentArchive[]): string {
  const cases = archives.map(
    ({ platform, version, sha256, size, unpackedSize }) =>
      `    ${platform}) version='${version}' sha256=${sha256} size=${size} unpacked=${unpackedSize} ;;`,
  );
  return script.replace('    @archives@', cases.join('\n'));
}

const script = `#!/bin/sh
# Installs the Capstan node agent and makes this machine a node. Run it as "capstan node enroll" prints it.
# Running it again changes nothing that is in order.
set -u
umask 022

say() { printf 'capstan: %s\\n' "$*"; }
die() { printf 'capstan: %s\\n' "$*" >&2; exit 1; }

usage() {
  cat <<'END'
sh install.sh --server URL --ca-hash SHA256 --ca-file FILE [options] [-- flags of capstan node-agent]

  --prefix DIR      where to install the agent (default: /opt/capstan, as a plain user ~/.local/share/capstan)
  --state-dir DIR   where the agent keeps its identity (default: /var/lib/capstan-node-agent, as a plain user ~/.local/state/capstan-node-agent)
  --foreground      run the agent in the foreground instead of as a service
  --no-start        install and enrol only

The token is the environment variable CAPSTAN_NODE_TOKEN.
END
}

archive_of() {
  case $1 in
    @archives@
    *) die "this control plane has no agent for $1. On the machine of an API server, build it with: capstan node archive --arch \${1#linux-}" ;;
  esac
}

read_flags() {
  server= hash= authority= prefix= state= foreground= start=yes
  while [ $# -gt 0 ]; do
    case $1 in
      --server | --ca-hash | --ca-file | --prefix | --state-dir) [ $# -ge 2 ] || die "$1 needs a value; see --help." ;;
    esac
    case $1 in
      --server) server=$2; shift ;;
      --ca-hash) hash=$2; shift ;;
      --ca-file) authority=$2; shift ;;
      --prefix) prefix=$2; shift ;;
      --state-dir) state=$2; shift ;;
      --foreground) foreground=yes ;;
      --no-start) start= ;;
      --help | -h) usage; exit 0 ;;
      --) return ;;
      *) die "there is no flag $1; see --help." ;;
    esac
    shift
  done
}

check_machine() {
  [ "$(uname -s)" = Linux ] || die "the agent runs on Linux, and this is $(uname -s). To try Capstan here, run: npx capstan up"
  case $(uname -m) in
    x86_64 | amd64) platform=linux-x64 loader=/lib64/ld-linux-x86-64.so.2 ;;
    aarch64 | arm64) platform=linux-arm64 loader=/lib/ld-linux-aarch64.so.1 ;;
    *) die "the agent runs on x86_64 and aarch64, and this machine is $(uname -m)." ;;
  esac
  for musl in /lib/ld-musl-*; do
    [ -e "$musl" ] && [ ! -e "$loader" ] &&
      die "this system uses the C library musl, as Alpine does, and the agent needs glibc 2.28 or newer. Use Debian, Ubuntu or another system with glibc."
  done
  [ -e "$loader" ] || die "there is no $loader: the agent needs glibc 2.28 or newer."
  for program in curl tar gzip sha256sum df mktemp; do
    command -v "$program" > /dev/null 2>&1 || die "the program $program is missing. On Debian and Ubuntu: apt-get install curl tar gzip coreutils"
  done
}

check_places() {
  if [ "$(id -u)" = 0 ]; then
    : "\${prefix:=/opt/capstan}" "\${state:=/var/lib/capstan-node-agent}"
  else
    [ -n "\${HOME-}" ] || die "this user has no home directory: set HOME, or give --prefix and --state-dir."
    : "\${prefix:=$HOME/.local/share/capstan}" "\${state:=$HOME/.local/state/capstan-node-agent}"
  fi
  case $prefix$state in
    *[!A-Za-z0-9/._+-]*) die "--prefix and --state-dir may contain only letters, digits and the characters / . _ + -." ;;
  esac
  case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
  case $state in /*) ;; *) state=$PWD/$state ;; esac
  mkdir -p "$prefix/versions" 2> /dev/null && [ -w "$prefix/versions" ] ||
    die "$(id -un) may not write to $prefix. Run the command as root, or choose another place with --prefix."
  (umask 077 && mkdir -p "$state") 2> /dev/null && [ -w "$state" ] ||
    die "$(id -un) may not write to $state. Run the command as root, or choose another place with --state-dir."
}

check_space() {
  needed=$(( (size + unpacked) / 1024 + 16384 ))
  free=$(df -Pk "$prefix/versions" | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4)
  [ "$free" -ge "$needed" ] ||
    die "there is not enough space in $prefix: the agent needs $(( needed / 1024 )) MiB, and $(( free / 1024 )) MiB are free. Make space, or choose another place with --prefix."
}

download() {
  part=$prefix/versions/.$sha256.part
  [ -e "$part" ] && [ "$(wc -c < "$part")" -gt "$size" ] && rm -f "$part"
  if [ ! -e "$part" ] || [ "$(wc -c < "$part")" -lt "$size" ]; then
    say "downloading the agent $version for $platform, $(( size / 1048576 )) MiB"
    curl -fsS --retry 5 --retry-delay 1 --cacert "$authority" -C - -o "$part" "$server/capstan/agent/$platform.tar.gz"
    code=$?
    case $code in
      0) ;;
      23) die "the archive could not be written to $prefix: is there enough space?" ;;
      60 | 35) die "the certificate of $server was not issued by the authority of the join command. Nothing was installed." ;;
      *) die "the archive could not be downloaded from $server (curl ended with $code). What has arrived is kept: run the command again." ;;
    esac
  fi
  found=$(sha256sum "$part" | cut -d ' ' -f 1)
  [ "$found" = "$sha256" ] && return
  rm -f "$part"
  die "the archive is not the expected one: its SHA-256 is $found, not $sha256. Nothing was installed. If the control plane was upgraded just now, run the command again."
}

unpack() {
  fresh=$prefix/versions/.unpacking.$$
  rm -rf "$fresh"
  mkdir "$fresh" || die "$fresh cannot be created."
  if ! gzip -dc "$part" | tar -xf - -C "$fresh" --no-same-owner; then
    rm -rf "$fresh"
    die "the archive could not be unpacked in $prefix: is there enough space?"
  fi
  if ! "$fresh/bin/capstan" --version > /dev/null; then
    rm -rf "$fresh"
    die "the agent does not run on this machine; the line above says why. It needs glibc 2.28 or newer, libstdc++, and a place that allows programs to run."
  fi
  rm -rf "$prefix/versions/$version"
  mv "$fresh" "$prefix/versions/$version" || die "$prefix/versions/$version cannot be created."
  rm -f "$part"
}

install_agent() {
  target=$prefix/versions/$version
  if [ ! -x "$target/bin/capstan" ] || ! "$target/bin/capstan" --version > /dev/null 2>&1; then
    check_space
    download
    unpack
  fi
  [ "$(readlink "$prefix/current" 2> /dev/null)" = "versions/$version" ] && return
  rm -f "$prefix/trial" "$prefix/failed"
  ln -sfn "versions/$version" "$prefix/.current.new" && mv -fT "$prefix/.current.new" "$prefix/current" ||
    die "$prefix/current cannot be created."
  changed=yes
}

enrol_once() {
  "$prefix/current/bin/capstan" node-agent --server "$server" --ca-hash "$hash" --state-dir "$state" --enroll-only
  code=$?
}

stop_agent() {
  say "stopping the agent that runs, to give it another identity"
  if has_systemd; then systemctl stop capstan-node-agent; fi
  if running_pid; then
    kill -TERM "$pid"
    while running_pid; do sleep 1; done
  fi
}

has_systemd() { [ -d /run/systemd/system ] && [ "$(id -u)" = 0 ]; }

enrol() {
  if [ -z "\${CAPSTAN_NODE_TOKEN-}" ]; then
    [ -e "$state/identity.json" ] || die "there is no token in CAPSTAN_NODE_TOKEN, and this machine is no node yet. Print a new command with: capstan node enroll NAME"
    return
  fi
  before=$(cat "$state/identity.json" 2> /dev/null | cksum)
  enrol_once
  # An agent with another identity runs. It starts again with the new one.
  if [ $code -eq 4 ]; then
    stop_agent
    enrol_once
  fi
  unset CAPSTAN_NODE_TOKEN
  [ $code -eq 14 ] && die "the control plane does not accept this machine; the line above says why. Print a new command with: capstan node enroll NAME"
  [ $code -eq 0 ] || die "this machine could not become a node; the line above says why."
  [ "$(cat "$state/identity.json" | cksum)" = "$before" ] || changed=yes
}

running_pid() {
  pid=$(cat "$prefix/agent.pid" 2> /dev/null) && [ -n "$pid" ] && tr '\\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null | grep -q "$prefix/current/bin/launch"
}

start_service() {
  unit=/etc/systemd/system/capstan-node-agent.service
  cat > "$unit.new" <<END
[Unit]
Description=Capstan node agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=/bin/sh $prefix/current/bin/launch --prefix $prefix -- --state-dir $state $*
# Tasks and services outlive the agent.
KillMode=process
Delegate=yes
Restart=always
RestartSec=5
RestartPreventExitStatus=14

[Install]
WantedBy=multi-user.target
END
  if ! cmp -s "$unit.new" "$unit"; then changed=yes; fi
  mv -f "$unit.new" "$unit"
  systemctl daemon-reload && systemctl enable --quiet capstan-node-agent || die "systemd does not accept $unit."
  if [ -n "$changed" ]; then systemctl restart capstan-node-agent; else systemctl start capstan-node-agent; fi ||
    die "the service does not start; see: journalctl --unit capstan-node-agent"
  say "the agent runs as the service capstan-node-agent; its log: journalctl --unit capstan-node-agent"
}

start_background() {
  if running_pid; then
    if [ -z "$changed" ]; then say "the agent runs already, with the pid $pid; its log: $prefix/agent.log"; return; fi
    kill -TERM "$pid"
    while running_pid; do sleep 1; done
  fi
  rm -f "$prefix/agent.pid"
  command -v setsid > /dev/null 2>&1 && session=setsid || session=
  $session nohup /bin/sh "$prefix/current/bin/launch" --prefix "$prefix" -- --state-dir "$state" "$@" < /dev/null >> "$prefix/agent.log" 2>&1 &
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    sleep 1
    if running_pid; then
      say "the agent runs in the background, with the pid $pid; its log: $prefix/agent.log"
      say "it does not start with the machine: without systemd, start it with: /bin/sh $prefix/current/bin/launch --prefix $prefix -- --state-dir $state $*"
      return
    fi
  done
  die "the agent does not start; its log: $prefix/agent.log"
}

main() {
  read_flags "$@"
  while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
  [ $# -eq 0 ] || shift
  changed=
  check_machine
  [ -n "$server" ] && [ -n "$hash" ] && [ -r "$authority" ] || die "expected --server, --ca-hash and --ca-file, as \\"capstan node enroll\\" prints them."
  archive_of "$platform"
  check_places
  case $authority in /*) ;; *) authority=$PWD/$authority ;; esac
  cd /
  install_agent
  enrol
  [ -n "$start" ] || { say "the agent is installed in $prefix and not started."; exit 0; }
  if [ -n "$foreground" ]; then
    exec /bin/sh "$prefix/current/bin/launch" --prefix "$prefix" -- --state-dir "$state" "$@"
  elif has_systemd; then
    start_service "$@"
  else
    start_background "$@"
  fi
}

main "$@"
exit 0
`;
