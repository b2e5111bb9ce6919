/** An agent that ends with this code wants to be started again, as the version that `current` then points to. */
export const restartCode = 75;

/** The names of files beside `versions` and `current` in the directory of an installation. */
export const installationFiles = {
  /** The version to return to. */
  previous: 'previous',
  /** The version that has not reported yet. The agent deletes the file when it has. */
  trial: 'trial',
  /** The version that was given up, and in the second line why. */
  failed: 'failed',
} as const;

/** The environment variable with the directory of the installation. */
export const prefixVariable = 'CAPSTAN_AGENT_PREFIX';

/**
 * Keeps the agent of an installation running, in POSIX shell so that it costs no memory worth mentioning. A new version is on trial until it has reported to
 * the control plane. If it ends before that or takes too long, the version before it runs again.
 */
export const launcherScript = `#!/bin/sh
# Usage: launch --prefix DIR -- flags of capstan node-agent
set -u

note() { printf 'launcher: %s\\n' "$*" >&2; }

pause() {
  sleep "$1" &
  wait $!
}

# A signal interrupts "wait" before the agent has ended.
wait_for_agent() {
  while :; do
    wait "$agent"
    code=$?
    kill -0 "$agent" 2> /dev/null || return 0
  done
}

# A file that names another version is about the next one: this one has reported.
on_trial() { [ "$(cat "$prefix/${installationFiles.trial}" 2> /dev/null)" = "$tried" ]; }

fall_back() {
  previous=$(cat "$prefix/${installationFiles.previous}" 2> /dev/null)
  code=${restartCode}
  if [ -z "$previous" ] || [ ! -x "$prefix/versions/$previous/bin/capstan" ]; then
    note "the version $tried $1, and there is no version to return to"
    rm -f "$prefix/${installationFiles.trial}"
    return
  fi
  note "the version $tried $1; returning to $previous"
  printf '%s\\n%s\\n' "$tried" "$1" > "$prefix/.failed.new" && mv -f "$prefix/.failed.new" "$prefix/${installationFiles.failed}"
  ln -sfn "versions/$previous" "$prefix/.current.new" && mv -fT "$prefix/.current.new" "$prefix/current"
  rm -f "$prefix/${installationFiles.trial}"
}

try_agent() {
  waited=0
  while on_trial && [ -z "$stopping" ] && kill -0 "$agent" 2> /dev/null; do
    if [ $waited -ge "$limit" ]; then
      kill -TERM "$agent" 2> /dev/null
      pause 2
      kill -KILL "$agent" 2> /dev/null
      wait_for_agent
      on_trial && fall_back "did not report to the control plane within $limit seconds"
      return
    fi
    pause 1
    waited=$((waited + 1))
  done
  wait_for_agent
  on_trial && [ -z "$stopping" ] && fall_back "ended with the exit code $code before it reported to the control plane"
}

main() {
  [ "\${1-}" = --prefix ] && [ $# -ge 3 ] || { note 'usage: launch --prefix DIR -- flags of capstan node-agent'; exit 2; }
  prefix=$2
  shift 3
  limit=\${CAPSTAN_TRIAL_SECONDS:-120}
  agent= stopping= rest=1
  ${prefixVariable}=$prefix
  export ${prefixVariable}
  trap 'stopping=yes; [ -z "$agent" ] || kill -TERM "$agent" 2> /dev/null' TERM INT HUP
  echo $$ > "$prefix/agent.pid"
  while [ -z "$stopping" ]; do
    began=$(date +%s)
    "$prefix/current/bin/capstan" node-agent "$@" &
    agent=$!
    tried=$(cat "$prefix/${installationFiles.trial}" 2> /dev/null)
    if [ -n "$tried" ]; then try_agent; else wait_for_agent; fi
    agent=
    [ -z "$stopping" ] || break
    case $code in
      ${restartCode}) continue ;;
      # The control plane does not accept this machine, or the flags are wrong: only a person can help.
      0 | 2 | 14) break ;;
    esac
    [ $(($(date +%s) - began)) -lt 60 ] || rest=1
    note "the agent ended with the exit code $code; starting it again in $rest seconds"
    pause $rest
    rest=$((rest * 2))
    [ $rest -le 60 ] || rest=60
  done
  rm -f "$prefix/agent.pid"
  exit "$code"
}

main "$@"
exit
`;
