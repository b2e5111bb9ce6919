#!/bin/sh
# Reports what a Kubernetes cluster has left on a node: processes, mounts, network interfaces, routes, packet filters and files.
set -u
. ./common.sh
instance=${2:-none} pods=${3:-10.42.0.0/16}

residue() {
  echo "residue: $1: $2"
}

for folder in /proc/[0-9]*; do
  pid=${folder#/proc/}
  [ "$pid" != $$ ] || continue
  command=$(tr '\0' ' ' < "$folder/cmdline" 2>/dev/null | cut -c 1-200)
  case "$(readlink "$folder/exe" 2>/dev/null) $command" in
  *"$data/"* | *containerd-shim*/run/k3s/*) residue "process $pid" "still runs: $command" ;;
  *) ! grep -qs kubepods "$folder/cgroup" || residue "process $pid" "a container still runs: $command" ;;
  esac
done

awk '{ print $2 }' /proc/mounts | grep -E "^(/run/k3s|/var/lib/kubelet|$data)(/|\$)|^/run/netns/cni-" | while read -r mount; do residue "$mount" 'is still mounted'; done

links='^(cni0|flannel|cali|vxlan\.calico|cilium|kube-ipvs0|kube-bridge|nodelocaldns)'
ip -o link 2>/dev/null | awk -F ': ' '{ print $2 }' | cut -d @ -f 1 | grep -E "$links" | while read -r link; do residue "$link" 'network interface is still there'; done
pod_routes "$pods" | while read -r route; do residue "route $route" 'route to pods is still there'; done

rules='KUBE-|CNI-|cali-|CALI|cilium|CILIUM|flannel'
for family in iptables ip6tables; do
  command -v "$family-save" > /dev/null || continue
  count=$("$family-save" 2>/dev/null | grep -cE "$rules")
  [ "$count" = 0 ] || residue "$family" "$count rules of the cluster are still there"
done
if command -v nft > /dev/null; then
  nft list tables 2>/dev/null | awk '$3 ~ /^(kube-proxy|calico|cilium|flannel)/ { print $2, $3 }' | while read -r family table; do
    residue "nft $family $table" 'table is still there'
  done
fi

! grep -qs 'cluster-[^ ]*\.capstan\.internal' /etc/hosts || residue /etc/hosts 'names of the cluster are still in it'
for path in "$config" "$data" $files "$own" "/var/lib/capstan/apps/$instance"; do
  [ ! -e "$path" ] || residue "$path" 'is still there'
done
# Those of kubeadm are removed one by one, as the machine may have others.
[ "$program" = kubeadm ] || [ ! -e /etc/cni/net.d ] || residue /etc/cni/net.d 'is still there'
for unit in "$program" "$program-server" "$program-agent" kubelet; do
  for folder in /etc/systemd/system /usr/local/lib/systemd/system; do
    [ ! -e "$folder/$unit.service" ] || residue "$folder/$unit.service" 'unit is still there'
  done
  [ ! -e "/etc/systemd/system/$unit.service.d/capstan.conf" ] || residue "/etc/systemd/system/$unit.service.d/capstan.conf" 'is still there'
  [ ! -e "/etc/systemd/system/$unit.service.env" ] || residue "/etc/systemd/system/$unit.service.env" 'is still there'
done
exit 0
