#!/bin/sh
# Reports how a member of a Kubernetes cluster is, in lines such as `node gpu-1 True`. Changes nothing.
set -u
. ./common.sh
role=$2 node=$3 service=$4
pattern="$program $role"
[ "$program" != kubeadm ] || pattern=kubelet

if [ -d /run/systemd/system ]; then
  echo "service $(systemctl is-active "$service" 2>/dev/null)"
  echo "enabled $(systemctl is-enabled "$service" 2>/dev/null)"
else
  state=inactive
  # RKE2 and k3s hide the rest of their arguments.
  for folder in /proc/[0-9]*; do
    case "$(tr '\0' ' ' < "$folder/cmdline" 2>/dev/null)" in "$pattern "* | /*"/$pattern "* | "$pattern" | /*"/$pattern") state=active ;; esac
  done
  echo "service $state"
fi
echo "version $(reported_version)"

# Without its secrets, which only the node knows.
settings=$config/config.yaml
[ "$program" != kubeadm ] || settings=$own/config.yaml
if [ -f "$settings" ]; then
  echo "config $(grep -vE '^((agent-)?token:|[[:space:]]*"(token":|certificateKey":|sha256:))' "$settings" | sha256sum | cut -c 1-64)"
else
  echo 'config missing'
fi

ready='{range .items[*]}node {.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'
cordoned='{range .items[?(@.spec.unschedulable==true)]}cordoned {.metadata.name}{"\n"}{end}'
labels='{range .items[*]}label {.metadata.name} {.metadata.labels.capstan\.dev/member}{"\n"}{end}'
if [ "$role" = server ]; then
  if kubeadmin --request-timeout 5s get --raw /readyz > /dev/null 2>&1; then
    echo 'api ready'
    kubeadmin --request-timeout 5s get nodes -o "jsonpath=$ready$cordoned$labels"
  else
    echo 'api not-ready'
  fi
  for file in "$data/server/db/snapshots"/*; do [ ! -f "$file" ] || echo "snapshot ${file##*/}"; done
else
  kubectl --kubeconfig "$member" --request-timeout 5s get node "$node" \
    -o 'jsonpath=node {.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\n"}' 2>/dev/null
fi

# The time in a certificate, which few nodes have openssl to read: two ASN.1 times, of which the second is the end. Years have two digits until 2049.
expiry() {
  time=$(sed -n '/BEGIN CERTIFICATE/,/END CERTIFICATE/{/CERTIFICATE/!p;}; /END CERTIFICATE/q' "$1" | base64 -d 2>/dev/null |
    LC_ALL=C grep -aoE '[0-9]{12}Z..([0-9]{2})?[0-9]{12}Z' | head -n 1 | LC_ALL=C sed -E 's/^[0-9]*Z..//')
  [ ${#time} != 13 ] || time=20$time
  printf '%s' "$time" | sed -E 's/^(.{4})(..)(..)(..)(..)(..)Z$/\1-\2-\3T\4:\5:\6Z/'
}

# The first that expires. The authorities live longer than the cluster.
first='' seen=''
for file in "$tls"/*.crt "$tls"/etcd/*.crt "$data/agent"/*.crt "$data/pki/kubelet-client-current.pem"; do
  [ -s "$file" ] || continue
  case $file in *-ca.crt | */ca.crt | *.nochain.crt) continue ;; esac
  seen=true
  expires=$(expiry "$file")
  [ -n "$expires" ] || continue
  [ -n "$first" ] && [ "$(printf '%s\n%s\n' "$expires" "$first" | sort | head -n 1)" = "$first" ] || first=$expires
done
[ -n "$seen" ] || exit 0
echo "expires ${first:-unknown}"
soon=$(date -u -d "@$(($(date +%s) + 2592000))" +%Y-%m-%dT%H:%M:%SZ)
[ -z "$first" ] || [ "$(printf '%s\n%s\n' "$first" "$soon" | sort | head -n 1)" != "$first" ] || echo 'expiring true'
exit 0
