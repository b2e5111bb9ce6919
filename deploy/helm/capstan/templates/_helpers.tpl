{{- define "capstan.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "capstan.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "capstan.labels" -}}
{{ include "capstan.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "capstan.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "capstan.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "capstan.serviceHost" -}}
{{- printf "%s.%s.svc" (include "capstan.fullname" .) .Release.Namespace -}}
{{- end -}}

{{- define "capstan.advertise" -}}
{{- default (printf "%s:%v" (include "capstan.serviceHost" .) .Values.service.port) .Values.advertise -}}
{{- end -}}

{{- define "capstan.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "capstan.dataDirectory" -}}
/var/lib/capstan
{{- end -}}

{{/* The configuration file: what the chart knows, and over it what the user says. */}}
{{- define "capstan.config" -}}
{{- $service := include "capstan.fullname" . -}}
{{- $host := include "capstan.serviceHost" . -}}
{{- $names := concat (list $service (printf "%s.%s" $service .Release.Namespace) $host (printf "%s.%s" $host .Values.clusterDomain)) .Values.names -}}
{{- $listen := dict "host" "0.0.0.0" "port" 6443 "names" $names -}}
{{- $apiserver := dict "listen" $listen "advertise" (include "capstan.advertise" .) -}}
{{- if .Values.etcd.endpoints -}}
{{- $etcd := dict "endpoints" .Values.etcd.endpoints -}}
{{- if .Values.etcd.prefix -}}{{- $_ := set $etcd "prefix" .Values.etcd.prefix -}}{{- end -}}
{{- if .Values.etcd.tlsSecret -}}
{{- $_ := set $etcd "authorityFile" "/etc/capstan/etcd/ca.crt" -}}
{{- if .Values.etcd.clientCertificate -}}
{{- $_ := set $etcd "certificateFile" "/etc/capstan/etcd/tls.crt" -}}
{{- $_ := set $etcd "keyFile" "/etc/capstan/etcd/tls.key" -}}
{{- end -}}
{{- end -}}
{{- $_ := set $apiserver "etcd" $etcd -}}
{{- end -}}
{{- $config := dict "dataDirectory" (include "capstan.dataDirectory" .) "apiserver" $apiserver -}}
{{- mergeOverwrite $config (deepCopy .Values.config) | toYaml -}}
{{- end -}}

{{- define "capstan.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Values that contradict each other stop the installation with a reason. */}}
{{- define "capstan.check" -}}
{{- $replicas := int .Values.replicaCount -}}
{{- if and (gt $replicas 1) (not .Values.etcd.endpoints) -}}
{{- fail (printf "replicaCount is %d, but SQLite serves one replica: set etcd.endpoints, or replicaCount to 1" $replicas) -}}
{{- end -}}
{{- if and (gt $replicas 1) (not .Values.pki.existingSecret) -}}
{{- fail (printf "replicaCount is %d, but the replicas share no keys: set pki.existingSecret, or replicaCount to 1" $replicas) -}}
{{- end -}}
{{- end -}}
