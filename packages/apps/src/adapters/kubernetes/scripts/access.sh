#!/bin/sh
# Lets the node agent pass on requests of users, and gives the groups of the platform their roles in the cluster.
set -eu
program=$1 instance=$2
data=/var/lib/rancher/$program
PATH=/usr/local/bin:/opt/$program/bin:$PATH
tls=$data/server/tls

kubectl() {
  if [ -x "$data/bin/kubectl" ]; then "$data/bin/kubectl" "$@"; else "$program" kubectl "$@"; fi
}

for file in "$tls/server-ca.crt" "$tls/client-admin.crt" "$tls/client-admin.key"; do
  [ -s "$file" ] || { echo "error: the server has not written $file" >&2; exit 50; }
done

binding() {
  cat << END
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: "$1", labels: { app.kubernetes.io/managed-by: capstan } }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: $2 }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: "$1" }]
END
}

{ binding capstan:admins cluster-admin; echo ---; binding capstan:viewers view; } |
  kubectl --kubeconfig "/etc/rancher/$program/$program.yaml" --request-timeout 20s apply -f - ||
  { echo "error: the cluster did not accept the roles of the platform" >&2; exit 51; }

umask 077
folder=/var/lib/capstan/apps/$instance
mkdir -p "$folder"
printf '{"port":6443,"authorityFile":"%s","certificateFile":"%s","keyFile":"%s"}\n' \
  "$tls/server-ca.crt" "$tls/client-admin.crt" "$tls/client-admin.key" > "$folder/access.json.new"
mv "$folder/access.json.new" "$folder/access.json"
