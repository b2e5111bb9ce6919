import { type Fields, fieldsOf, isAbsent, itemsOf, numberOf, textOf } from '@capstan/machinery';
import { applyDefaults, type Defaults, made } from '../shared/defaulting.ts';

/** Matches one part of an image's path after the registry. */
const imagePart = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;

/** Whether a name is a valid image reference. Invalid names are not rejected; pulling them fails. */
function isReference(image: string): boolean {
  // Beyond these, the patterns below would look for an end from every character on.
  if (/[\n\r\u2028\u2029]/.test(image)) return false;
  const parts = image
    .replace(/@.*$/, '')
    .replace(/:[\w.-]+$/, '')
    .split('/');
  const hasRegistry = parts.length > 1 && /[.:A-Z]|^localhost$/.test(parts[0]!);
  return (hasRegistry ? parts.slice(1) : parts).every((part) => imagePart.test(part));
}

export function isLatest(image: string): boolean {
  if (!isReference(image)) return false;
  const at = image.indexOf('@');
  const name = image.slice(image.lastIndexOf('/', at === -1 ? undefined : at) + 1, at === -1 ? undefined : at);
  const colon = name.indexOf(':');
  return colon === -1 ? at === -1 : name.slice(colon + 1) === 'latest';
}

const httpGet: Defaults = { set: { path: '/', scheme: 'HTTP' } };

const probe: Defaults = {
  setNumbers: { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
  within: { httpGet, grpc: { set: { service: '' } } },
};

const handler: Defaults = { within: { httpGet } };

const fieldReference: Defaults = { set: { apiVersion: 'v1' } };

const fieldSource: Defaults = { within: { fieldRef: fieldReference, resourceFieldRef: { set: { divisor: '0' } } } };

export const container: Defaults = {
  set: { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File', resources: {} },
  within: {
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
    lifecycle: { within: { postStart: handler, preStop: handler } },
    securityContext: {},
  },
  each: { ports: { set: { protocol: 'TCP' } }, env: { within: { valueFrom: fieldSource } } },
  also: (object) => {
    if (textOf(object['imagePullPolicy']) === '') object['imagePullPolicy'] = isLatest(textOf(object['image'])) ? 'Always' : 'IfNotPresent';
  },
};

export const claimSpec: Defaults = { setOptional: { volumeMode: 'Filesystem', resources: {} } };

const mode = 0o644;
const file: Defaults = { set: { defaultMode: mode } };
const downward: Defaults = { each: { items: fieldSource } };

/** Defaults for the volume sources that pods and persistent volumes share. */
export const volumeSources: Readonly<Record<string, Defaults>> = {
  hostPath: { set: { type: '' } },
  iscsi: { set: { iscsiInterface: 'default' } },
  rbd: { set: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
  azureDisk: { set: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' } },
  scaleIO: { set: { storageMode: 'ThinProvisioned', fsType: 'xfs' } },
};

const volume: Defaults = {
  within: {
    ...volumeSources,
    secret: file,
    configMap: file,
    downwardAPI: { ...file, ...downward },
    ephemeral: { within: { volumeClaimTemplate: { set: { metadata: {} }, within: { spec: claimSpec } } } },
    projected: {
      ...file,
      each: { sources: { within: { serviceAccountToken: { set: { expirationSeconds: 3600 } }, downwardAPI: downward } } },
    },
    image: {
      also: (image) => {
        if (textOf(image['pullPolicy']) === '') image['pullPolicy'] = isLatest(textOf(image['reference'])) ? 'Always' : 'IfNotPresent';
      },
    },
  },
  also: (object) => {
    // A volume without a source is an empty directory.
    for (const field in object) if (field !== 'name' && !isAbsent(object[field])) return;
    object['emptyDir'] = {};
  },
};

export const podSpec: Defaults = {
  set: {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    schedulerName: 'default-scheduler',
  },
  each: { containers: container, initContainers: container, ephemeralContainers: container, volumes: volume },
  also: (spec) => {
    // Only init containers may have a restart policy, and only `Always`; other values are dropped.
    for (const item of itemsOf(spec['containers'])) delete item['restartPolicy'];
    for (const item of itemsOf(spec['initContainers'])) if (item['restartPolicy'] !== 'Always') delete item['restartPolicy'];
    // The deprecated field is always equal to the new one.
    const account = textOf(spec['serviceAccountName']) || textOf(spec['serviceAccount']);
    if (account !== '') spec['serviceAccountName'] = spec['serviceAccount'] = account;
  },
};

/** With hostNetwork, host ports default to the container ports. */
function hostPortsOf(containers: unknown): void {
  for (const item of itemsOf(containers)) {
    for (const port of itemsOf(item['ports'])) if (numberOf(port['hostPort']) === 0) port['hostPort'] = port['containerPort'];
  }
}

/** Defaults a pod template, creating its `metadata` and `spec` if missing. */
export function defaultTemplate(owner: Fields, field = 'template'): Fields {
  const template = made(owner, field);
  made(template, 'metadata');
  applyDefaults(made(template, 'spec'), podSpec);
  return template;
}

/** Requests default to the limits; only in pods, not in pod templates. */
function requestLimits(containers: unknown): void {
  for (const item of itemsOf(containers)) {
    const limits = fieldsOf(fieldsOf(item['resources'])['limits']);
    if (Object.keys(limits).length === 0) continue;
    const requests = made(made(item, 'resources'), 'requests');
    for (const name of Object.keys(limits)) if (!Object.hasOwn(requests, name)) requests[name] = limits[name];
  }
}

export function defaultPod(spec: Fields): void {
  applyDefaults(spec, podSpec);
  requestLimits(spec['containers']);
  requestLimits(spec['initContainers']);
  if (isAbsent(spec['enableServiceLinks'])) spec['enableServiceLinks'] = true;
  if (spec['hostNetwork'] !== true) return;
  hostPortsOf(spec['containers']);
  hostPortsOf(spec['initContainers']);
}
