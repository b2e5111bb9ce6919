#!/bin/sh
# Waits until the service of a member works and its node is ready. Ends with the log of the service if that takes too long.
set -eu
. ./common.sh
role=$2 node=$3 service=$4 seconds=$5
log=/var/log/$service.log
began=$(date +%s)
began_at=$(date -u +%Y-%m-%dT%H:%M:%S)
offset=$(($(stat -c %s "$log" 2>/dev/null || echo 0) + 1))

# The lines since this script began.
recent() {
  if [ -d /run/systemd/system ]; then
    journalctl --unit "$service" --since "@$began" --no-pager --output cat 2>/dev/null || :
  else
    tail -c "+$offset" "$log" 2>/dev/null || :
  fi
}

all() {
  if [ -d /run/systemd/system ]; then journalctl --unit "$service" --lines 150 --no-pager --output short-iso 2>/dev/null || :; else tail -n 150 "$log" 2>/dev/null || :; fi
}

give_up() {
  code=$1
  shift
  echo "The end of the log of $service:"
  all
  echo "error: $*" >&2
  exit "$code"
}

if [ "$role" = server ]; then kubeconfig=$admin; else kubeconfig=$member; fi
ask() {
  if [ "$role" = server ]; then kubeadmin --request-timeout 5s "$@"; else kubectl --kubeconfig "$member" --request-timeout 5s "$@"; fi
}
told=
problem=
look() {
  code=40
  problem="$service has not written $kubeconfig yet"
  [ -s "$kubeconfig" ] || return 1
  if [ "$role" = server ]; then
    code=41
    problem=$(ask get --raw /readyz 2>&1) || { problem="the API is not ready: $problem"; return 1; }
    rm -f "$own/forming"
  fi
  code=42
  problem=$(ask get node "$node" \
    -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}' 2>&1) ||
    { problem="the cluster does not know the node $node yet: $problem"; return 1; }
  case $problem in
  True*) ;;
  *)
    problem="the node $node is not ready: $problem"
    return 1
    ;;
  esac
  # A node counts as ready for a while after its kubelet has ended. This clock has stamped both times.
  renewed=$(ask --namespace kube-node-lease get lease "$node" -o 'jsonpath={.spec.renewTime}' 2>&1) ||
    { problem="the kubelet of $node has no lease yet: $renewed"; return 1; }
  problem="the kubelet of $node was last heard of at $renewed"
  [ "$(printf '%s\n%s\n' "$renewed" "$began_at" | LC_ALL=C sort | head -n 1)" = "$began_at" ]
}

while ! look; do
  line=$(printf '%s' "$problem" | tail -n 1 | cut -c 1-300)
  [ "$line" = "$told" ] || echo "$line"
  told=$line
  case $(recent) in
  *'ode password rejected'*)
    give_up 43 "the server knows the node $node by another password; repair this member, which deletes the old one" ;;
  *'not yet valid'* | *'certificate has expired'*)
    [ "$(($(date +%s) - began))" -lt 15 ] || give_up 38 "certificates are not valid at the time of this node, $(date -u '+%F %T') UTC; set its clock, or renew the certificates" ;;
  *'token CA hash does not match'* | *'401 Unauthorized'* | *'401: Unauthorized'* | *'not authorized'*)
    [ "$(($(date +%s) - began))" -lt 30 ] || give_up 44 "the server does not accept the token of this member; repair it" ;;
  esac
  [ "$(($(date +%s) - began))" -lt "$seconds" ] || give_up "$code" "$line"
  sleep 1
done
echo "$node is ready"
