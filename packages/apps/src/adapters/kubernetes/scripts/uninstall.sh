#!/bin/sh
# Removes RKE2 or k3s from a node with its own scripts, and then what these are known to leave behind.
set -u
program=$1 role=$2 instance=$3
data=/var/lib/rancher/$program
own=/var/lib/capstan-apps/$program
PATH=/usr/local/bin:/opt/$program/bin:$PATH

# A node that the first check refused may have the cluster of somebody else.
if [ "$(cat "$own/instance" 2> /dev/null)" != "$instance" ]; then
  echo "this node has nothing of the instance"
  exit 0
fi

if command -v "$program-killall.sh" > /dev/null; then "$program-killall.sh"; fi
uninstall=$program-uninstall.sh
[ "$program-$role" != k3s-agent ] || uninstall=k3s-agent-uninstall.sh
if command -v "$uninstall" > /dev/null; then "$uninstall" || echo "$uninstall ended with exit code $?"; fi

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
ip route show type blackhole 2>/dev/null | while read -r route; do ip route delete $route; done

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
rm -rf "/etc/rancher/$program" /etc/rancher/node "$data" /var/lib/kubelet /var/lib/cni /etc/cni/net.d /run/k3s /run/flannel /var/log/pods /var/log/containers
rm -rf "/var/lib/capstan/apps/$instance"
rm -f "/var/log/$program.log" "/var/log/$program-server.log" "/var/log/$program-agent.log" "/usr/local/bin/$program" \
  "/usr/local/bin/$program-killall.sh" "/usr/local/bin/$program-uninstall.sh" "/usr/local/bin/$program-agent-uninstall.sh" \
  /etc/NetworkManager/conf.d/capstan-kubernetes.conf /etc/sysctl.d/90-capstan-kubernetes.conf
rm -rf "/usr/local/share/$program" "/usr/local/lib/systemd/system/$program-server.service" "/usr/local/lib/systemd/system/$program-agent.service" \
  "/usr/local/lib/systemd/system/$program-server.env" "/usr/local/lib/systemd/system/$program-agent.env"
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
