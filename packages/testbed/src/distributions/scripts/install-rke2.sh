#!/bin/sh
# Installs from files beside it, as INSTALL_RKE2_ARTIFACT_PATH says. Starts nothing.
set -eu
path=${INSTALL_RKE2_ARTIFACT_PATH:?} prefix=${INSTALL_RKE2_TAR_PREFIX:-/usr/local}
cd "$path"
grep ' rke2\.linux-amd64\.tar\.gz$' sha256sum-amd64.txt | sha256sum -c -
mkdir -p "$prefix" /var/lib/rancher/rke2/agent/images
tar -xzf rke2.linux-amd64.tar.gz -C "$prefix"
for file in rke2-images*; do [ ! -f "$file" ] || cp "$file" /var/lib/rancher/rke2/agent/images/; done
[ "${INSTALL_RKE2_SKIP_RELOAD:-}" = true ] || systemctl daemon-reload
