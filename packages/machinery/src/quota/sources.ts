import type { GroupResource } from '../status/status.ts';
import { wholeAmount } from './amounts.ts';
import { claimMeasure } from './claims.ts';
import { deviceMeasure } from './devices.ts';
import type { Measure } from './measure.ts';
import { podMeasure } from './pods.ts';
import { serviceMeasure } from './services.ts';

const measures: ReadonlyMap<string, Measure> = new Map<string, Measure>([
  ['pods', podMeasure],
  ['services', serviceMeasure],
  ['persistentvolumeclaims', claimMeasure],
  ['resourceclaims.resource.k8s.io', deviceMeasure],
]);

/** Kinds that quotas could count by their own name before `count/` existed. */
const aliases = new Set(['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets']);

export function measureOf(resource: GroupResource): Measure {
  const name = printSource(resource);
  return measures.get(name) ?? countMeasure(name);
}

function countMeasure(name: string): Measure {
  const one = wholeAmount(1);
  const usage = new Map([[`count/${name}`, one]]);
  if (aliases.has(name)) usage.set(name, one);
  return { looksInside: false, usage: () => usage, isInScope: () => false };
}

const podNames = new Set(['pods', 'cpu', 'memory', 'ephemeral-storage']);
const serviceNames = new Set(['services', 'services.nodeports', 'services.loadbalancers']);
const storageNames = new Set(['persistentvolumeclaims', 'requests.storage']);
const classSuffix = '.storageclass.storage.k8s.io/';
const computePrefix = /^(?:requests|limits)\.(?:cpu|memory|ephemeral-storage)$/;

const pods = { group: '', resource: 'pods' };
const services = { group: '', resource: 'services' };
const claims = { group: '', resource: 'persistentvolumeclaims' };
const devices = { group: 'resource.k8s.io', resource: 'resourceclaims' };

/** The resource whose objects use what a quota limits under this name; undefined if no known resource does. */
export function quotaSource(name: string): GroupResource | undefined {
  if (name.startsWith('count/')) return parseSource(name.slice('count/'.length));
  if (podNames.has(name) || computePrefix.test(name) || /^(?:requests\.)?hugepages-/.test(name)) return pods;
  if (serviceNames.has(name)) return services;
  if (storageNames.has(name)) return claims;
  const mark = name.indexOf(classSuffix);
  if (mark >= 0) return storageNames.has(name.slice(mark + classSuffix.length)) ? claims : undefined;
  if (name.endsWith('.deviceclass.resource.k8s.io/devices')) return devices;
  if (aliases.has(name)) return { group: '', resource: name };
  return name.startsWith('requests.') && name.includes('/') && !name.includes('kubernetes.io/') ? pods : undefined;
}

function parseSource(text: string): GroupResource {
  const dot = text.indexOf('.');
  return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
}

/** `configmaps`, `deployments.apps`. */
export function printSource({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`;
}
