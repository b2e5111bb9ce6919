#!/bin/sh
# Ends all programs and pods, and removes their mounts and networks. The data stays.
data=/var/lib/rancher/@program@
if [ -d /run/systemd/system ]; then
  for unit in @program@ @program@-server @program@-agent; do systemctl stop "$unit" 2> /dev/null; done
fi

tree() {
  for child in $(cat "/proc/$1/task/$1/children" 2> /dev/null); do tree "$child"; done
  echo "$1"
}
for folder in /proc/[0-9]*; do
  pid=${folder#/proc/}
  case "$(tr '\0' ' ' < "$folder/cmdline" 2> /dev/null)" in
  *containerd-shim*/run/k3s/*) kill -KILL $(tree "$pid") 2> /dev/null ;;
  esac
done
for folder in /proc/[0-9]*; do
  pid=${folder#/proc/}
  [ "$pid" != $$ ] || continue
  case "$(tr '\0' ' ' < "$folder/cmdline" 2> /dev/null)" in
  *" $data/"* | *"=$data/"*) kill -KILL "$pid" 2> /dev/null ;;
  esac
done

awk '{ print $2 }' /proc/mounts | grep -E "^(/run/k3s|/var/lib/kubelet/pods|/run/netns/cni-)" | sort -r | while read -r mount; do
  umount -l "$mount"
  rm -rf "$mount"
done
rm -rf /run/k3s
for link in $(ip -o link | awk -F ': ' '{ print $2 }' | cut -d @ -f 1 | grep -E '^(cni0|flannel)'); do ip link delete "$link"; done
ip route show | grep '^10\.42\.' | while read -r network via gateway rest; do ip route delete "$network" "$via" "$gateway"; done
for family in ip ip6; do nft delete table "$family" kube-proxy 2> /dev/null; done
if command -v iptables-save > /dev/null; then
  iptables-save 2> /dev/null | grep -vE 'KUBE-|CNI-|flannel' | iptables-restore 2> /dev/null
fi
exit 0
