#!/bin/sh
# Lets the node agent pass on requests of users, and gives the groups of the platform their roles in the cluster.
set -eu
. ./common.sh
instance=$2
folder=/var/lib/capstan/apps/$instance
umask 077

# kubeadm has the credentials of the administrator in a kubeconfig only.
if [ "$program" = kubeadm ]; then
  authority=$tls/ca.crt certificate=$folder/client.crt key=$folder/client.key
  mkdir -p "$folder"
  for pair in "client-certificate-data $certificate" "client-key-data $key"; do
    [ -s "$admin" ] || break
    kubectl --kubeconfig "$admin" config view --raw -o "jsonpath={.users[0].user.${pair% *}}" | base64 -d > "${pair#* }.new"
    mv "${pair#* }.new" "${pair#* }"
  done
else
  authority=$tls/server-ca.crt certificate=$tls/client-admin.crt key=$tls/client-admin.key
fi
for file in "$authority" "$certificate" "$key"; do
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

{ binding capstan:admins cluster-admin; echo ---; binding capstan:viewers view; } | kubeadmin --request-timeout 20s apply -f - ||
  { echo "error: the cluster did not accept the roles of the platform" >&2; exit 51; }

mkdir -p "$folder"
printf '{"port":6443,"authorityFile":"%s","certificateFile":"%s","keyFile":"%s"}\n' "$authority" "$certificate" "$key" > "$folder/access.json.new"
mv "$folder/access.json.new" "$folder/access.json"
