import { byAgents } from './by-agents.ts';
import { expressions } from './expressions.ts';
import { type Attack, asking, connections, handshakes, repeated } from './means.ts';
import { multiplied } from './multiplied.ts';
import { onPages } from './pages.ts';
import { throughRest } from './through-rest.ts';
import { configMaps } from './world.ts';

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const large = 'x'.repeat(1_200_000);

const names = Array.from({ length: 20_000 }, (_, index) => [`key-${index}`, 'x'.repeat(40)] as const);

const keys = (length: number): object => Object.fromEntries(Array.from({ length }, (_, index) => [`k${index}`, '']));
/** As a creation and as an update. */
const bodies = (fields: object): readonly string[] =>
  [{ generateName: 'created-' }, { name: 'large-1' }].map((metadata) => JSON.stringify({ metadata, ...fields }));
const tooManyKeys = bodies({ data: keys(99_000) });
const manyKeys = bodies({ data: keys(19_900), binaryData: keys(19_900) });
const withKeys = (texts: readonly string[]): Attack =>
  asking(8, ({ attacker }, index) => ({
    method: index % 2 === 0 ? 'POST' : 'PUT',
    path: `${configMaps(attacker.cluster)}${index % 2 === 0 ? '' : '/large-1'}?dryRun=All`,
    body: texts[index % 2]!,
  }));
const manyValues = JSON.stringify({ metadata: { name: 'values' }, rules: [{ verbs: Array.from({ length: 99_900 }, () => 'get') }] });

/** By their names in the table. */
export const attacks: ReadonlyMap<string, Attack> = new Map<string, Attack>([
  ['gets, 64 connections', asking(64, ({ attacker }) => ({ method: 'GET', path: `${configMaps(attacker.cluster)}/small-0` }))],
  [
    'unfinished requests, one in each child workspace',
    connections(
      ({ children }) => children.length,
      ({ children }, index) => ({
        method: 'POST',
        path: configMaps(children[index]!),
        headers: { 'content-type': 'application/json', 'content-length': '100' },
        body: '{',
      }),
    ),
  ],
  [
    'lists of 10 MB that are not read, 200 connections',
    connections(
      () => 200,
      ({ attacker }) => ({ method: 'GET', path: `${configMaps(attacker.cluster)}?labelSelector=size%3Dlarge` }),
    ),
  ],
  [
    'watches of 10 MB that are not read, 200 connections',
    connections(
      () => 200,
      ({ attacker }) => ({
        method: 'GET',
        path: `${configMaps(attacker.cluster)}?watch=true&labelSelector=size%3Dlarge`,
      }),
    ),
  ],
  [
    'tables of all objects, 40 connections',
    asking(40, ({ attacker }) => ({ method: 'GET', path: configMaps(attacker.cluster), headers: { accept: table } })),
  ],
  ['lists of all objects, 40 connections', asking(40, ({ attacker }) => ({ method: 'GET', path: configMaps(attacker.cluster) }))],
  [
    'applies of 1.2 MB, 16 connections',
    asking(16, ({ attacker }, index) => ({
      method: 'PATCH',
      path: `${configMaps(attacker.cluster)}/applied-${index % 16}?fieldManager=hostile&force=true`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `applied-${index % 16}` },
        data: Object.fromEntries(names.map(([name, value]) => [name, `${value}${index}`])),
      }),
    })),
  ],
  [
    'creates of 1.2 MB, 16 connections',
    asking(16, ({ attacker }) => ({
      method: 'POST',
      path: `${configMaps(attacker.cluster)}?dryRun=All`,
      body: JSON.stringify({ metadata: { generateName: 'created-' }, data: { large } }),
    })),
  ],
  ['ConfigMaps of 99,000 keys, 8 connections', withKeys(tooManyKeys)],
  ['ConfigMaps of 39,800 keys, 8 connections', withKeys(manyKeys)],
  [
    'objects of 100,000 values, 8 connections',
    asking(8, ({ attacker }) => ({
      method: 'POST',
      path: `/clusters/${attacker.cluster}/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All`,
      body: manyValues,
    })),
  ],
  [
    'JSON patches of 10,000 operations, 8 connections',
    asking(8, ({ attacker }, index) => ({
      method: 'PATCH',
      path: `${configMaps(attacker.cluster)}/large-${index % 8}`,
      headers: { 'content-type': 'application/json-patch+json' },
      body: JSON.stringify(
        Array.from({ length: 10_000 }, (_, at) => ({ op: 'add', path: `/metadata/labels/l${at % 50}`, value: String(at % 7) })),
      ),
    })),
  ],
  ['TLS handshakes, 100 at a time', handshakes(100)],
  ...expressions,
  ...multiplied,
  [
    'roles of 2,000 rules, 8 connections',
    asking(8, ({ attacker }, index) => ({
      method: 'POST',
      path: `/clusters/${attacker.cluster}/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All`,
      body: JSON.stringify({
        metadata: { name: `large-${index}` },
        rules: Array.from({ length: 2_000 }, (_, at) => ({ apiGroups: [`g${at}`], resources: ['a', 'b', 'c'], verbs: ['get', 'list'] })),
      }),
    })),
  ],
  ...byAgents,
  ...onPages,
  ...throughRest,
  ['nothing: the same again', repeated()],
]);
