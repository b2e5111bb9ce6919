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

# The first that expires. The authorities live longer than the cluster.
command -v openssl > /dev/null || exit 0
first=
for file in "$tls"/*.crt "$tls"/etcd/*.crt "$data/agent"/*.crt "$data/pki/kubelet-client-current.pem"; do
  [ -s "$file" ] || continue
  case $file in *-ca.crt | */ca.crt | *.nochain.crt) continue ;; esac
  expires=$(openssl x509 -noout -enddate -dateopt iso_8601 -in "$file" 2>/dev/null | sed -n 's/^notAfter=\(.*\) \(.*Z\)$/\1T\2/p')
  [ -n "$expires" ] || continue
  if [ -z "$first" ] || [ "$(printf '%s\n%s\n' "$expires" "$first" | sort | head -n 1)" = "$expires" ]; then
    first=$expires
    soonest=$file
  fi
done
[ -n "$first" ] || exit 0
echo "expires $first"
openssl x509 -noout -checkend 2592000 -in "$soonest" > /dev/null 2>&1 || echo 'expiring true'
exit 0
