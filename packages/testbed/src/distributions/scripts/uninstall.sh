#!/bin/sh
# Removes the distribution with all of its data.
folder=$(dirname "$0")
"$folder/@program@-killall.sh"
if [ -d /run/systemd/system ]; then
  for unit in @program@ @program@-server @program@-agent; do systemctl disable "$unit" 2> /dev/null; done
fi
rm -rf /etc/rancher/@program@ /var/lib/rancher/@program@ /var/lib/kubelet /etc/cni/net.d /var/lib/cni
# k3s leaves the password of the node.
[ @program@ = k3s ] || rm -rf /etc/rancher/node
rm -f /etc/systemd/system/@program@.service /etc/systemd/system/@program@-agent.service \
  /usr/local/lib/systemd/system/@program@-server.service /usr/local/lib/systemd/system/@program@-agent.service
rm -f "$folder/@program@" "$folder/@program@-killall.sh" "$folder/@program@-uninstall.sh" "$folder/@program@-agent-uninstall.sh"
