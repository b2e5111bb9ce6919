#!/bin/sh
# Removes RKE2, k3s or kubeadm from a node with its own scripts, and then what these are known to leave behind.
set -u
. ./common.sh
role=$2 instance=$3 extent=${4:-alone} pods=${5:-10.42.0.0/16}

# A node that the first check refused may have the cluster of somebody else.
if [ "$(cat "$own/instance" 2> /dev/null)" != "$instance" ]; then
  echo "this node has nothing of the instance"
  exit 0
fi

if command -v "$program-killall.sh" > /dev/null; then "$program-killall.sh"; fi
uninstall=$program-uninstall.sh
[ "$program-$role" != k3s-agent ] || uninstall=k3s-agent-uninstall.sh
if command -v "$uninstall" > /dev/null; then "$uninstall" || echo "$uninstall ended with exit code $?"; fi
if [ "$program" = kubeadm ]; then
  skipped=
  [ "$extent" != whole ] || skipped=--skip-phases=remove-etcd-member
  kubeadm reset --force $skipped --cleanup-tmp-dir --cri-socket unix:///run/containerd/containerd.sock || echo "kubeadm reset ended with exit code $?"
  # The folder stays: the containerd of the machine watches it.
  ls -A /etc/cni/net.d 2>/dev/null | grep -vxF -f "$own/networks.before" | while read -r file; do rm -rf "/etc/cni/net.d/$file"; done
  cat "$own/images.imported" 2>/dev/null | sort -u | while read -r image; do ctr --namespace k8s.io images remove --sync "$image" > /dev/null; done
fi

# Programs that outlived them: those that were started from the folders of the cluster, and those of pods.
processes() {
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    [ "$pid" != $$ ] || continue
    case "$(readlink "$folder/exe" 2>/dev/null) $(tr '\0' ' ' < "$folder/cmdline" 2>/dev/null)" in
    *"$data/"* | *containerd-shim*/run/k3s/*) echo "$pid" ;;
    *) ! grep -qs kubepods "$folder/cgroup" || echo "$pid" ;;
    esac
  done
}
for signal in TERM TERM KILL KILL; do
  left=$(processes)
  [ -n "$left" ] || break
  kill "-$signal" $left 2>/dev/null
  sleep 1
done

# The deepest first.
awk '{ print $2 }' /proc/mounts | grep -E "^(/run/k3s|/var/lib/kubelet|$data)(/|\$)|^/run/netns/cni-" | sort -r | while read -r mount; do
  umount -l "$mount" && rm -rf "$mount"
done

links='^(cni0|flannel|cali|vxlan\.calico|cilium|kube-ipvs0|kube-bridge|nodelocaldns)'
ip -o link 2>/dev/null | awk -F ': ' '{ print $2 }' | cut -d @ -f 1 | grep -E "$links" | while read -r link; do ip link delete "$link"; done
# Networks of pods that route without a tunnel leave these, and blackholes for the addresses of a node.
pod_routes "$pods" | while read -r route; do ip "$(family_of "$pods")" route delete $route; done

rules='KUBE-|CNI-|cali-|CALI|cilium|CILIUM|flannel'
for family in iptables ip6tables; do
  command -v "$family-save" > /dev/null && command -v "$family-restore" > /dev/null || continue
  "$family-save" 2>/dev/null | grep -qE "$rules" || continue
  "$family-save" 2>/dev/null | grep -vE "$rules" | "$family-restore"
done
if command -v nft > /dev/null; then
  nft list tables 2>/dev/null | awk '$3 ~ /^(kube-proxy|calico|cilium|flannel)/ { print $2, $3 }' | while read -r family table; do
    nft delete table "$family" "$table"
  done
fi

# /etc/rancher/node has the password of the node, which would keep a machine of this name from joining again.
[ "$program" = kubeadm ] || rm -rf /etc/cni/net.d
rm -rf "$config" "$data" $files "/var/lib/capstan/apps/$instance"
if grep -qsF "# capstan $instance" /etc/hosts; then
  others=$(grep -vF "# capstan $instance" /etc/hosts || :)
  printf '%s\n' "$others" > /etc/hosts
fi
# Its own script has removed these, unless somebody has removed the script.
for unit in "$program" "$program-server" "$program-agent"; do
  rm -f "/etc/systemd/system/$unit.service" "/etc/systemd/system/$unit.service.env" "/usr/local/lib/systemd/system/$unit.service"
  rm -rf "/etc/systemd/system/$unit.service.d"
done
[ "$program" != kubeadm ] || rm -f /etc/systemd/system/kubelet.service
[ ! -d /run/systemd/system ] || systemctl daemon-reload

left=$(processes)
if [ -n "$left" ]; then
  echo "error: these processes could not be ended: $left" >&2
  exit 70
fi
# Last, so that a removal that is cut off goes on later.
rm -rf "$own"
for folder in /etc/rancher /var/lib/rancher /var/lib/capstan-apps /var/lib/capstan/apps; do rmdir "$folder" 2>/dev/null || :; done
exit 0
