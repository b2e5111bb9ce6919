#!/bin/sh
# Writes the unit and the scripts of k3s, whose program is in place already.
set -eu
[ "${INSTALL_K3S_SKIP_DOWNLOAD:-}" = true ] || { echo "this release has no network" >&2; exit 1; }
[ -x /usr/local/bin/k3s ] || { echo "/usr/local/bin/k3s is missing" >&2; exit 1; }
command=${INSTALL_K3S_EXEC:-server}
name=k3s uninstall=k3s-uninstall.sh
[ "$command" != agent ] || { name=k3s-agent; uninstall=k3s-agent-uninstall.sh; }
cat > /usr/local/bin/k3s-killall.sh << 'END'
@killall@
END
cat > "/usr/local/bin/$uninstall" << 'END'
@uninstall@
END
chmod 755 /usr/local/bin/k3s-killall.sh "/usr/local/bin/$uninstall"
mkdir -p /etc/systemd/system
printf '[Unit]\nAfter=network-online.target\n[Service]\nType=exec\nKillMode=process\nDelegate=yes\nRestart=always\nRestartSec=5s\nExecStart=/usr/local/bin/k3s %s\n[Install]\nWantedBy=multi-user.target\n' \
  "$command" > "/etc/systemd/system/$name.service"
