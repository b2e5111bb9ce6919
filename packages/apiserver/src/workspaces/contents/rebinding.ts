import { type ApiBinding, type ApiExport, type ClusterId, exportLabel } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { apiBindings, boundResources } from '../../bindings/bound-resources.ts';
import { apiExports, exportLabelValue } from '../../bindings/names.ts';
import { referenceOf } from '../../bindings/reference.ts';
import { printReference } from '../apis/reference.ts';
import type { Tree } from '../tree.ts';

/** An object of an exported workspace, and where it lies within it: `group/resource/namespace/name`. */
export interface TransferLine {
  readonly at: string;
  readonly object: KubeObject;
}

/** A binding that comes from where its export had another identity, or was there at all. */
export interface Unbound {
  readonly binding: string;
  readonly export: string;
  readonly reason: 'NoExport' | 'OtherIdentity';
  /** How many objects of it are stored and not served. */
  readonly objects: number;
}

export interface Rebinding {
  readonly lines: readonly TransferLine[];
  /** Places of bindings to what the workspace is bound to already, by another name. */
  readonly skipped: readonly string[];
  readonly unbound: readonly Unbound[];
  /** Names of bindings that are now of the export that is here. */
  readonly rebound: readonly string[];
  /** Where an object lies now → where it lay. */
  readonly moved: ReadonlyMap<string, string>;
}

export interface RebindingOptions {
  readonly objects: ObjectReader;
  readonly tree: Tree;
  /** The workspace that is filled, and the path that it had. */
  readonly cluster: ClusterId;
  readonly from: string;
  /** Whether objects are given to exports with the same path and name that have another identity here. */
  readonly rebind: boolean;
}

interface Found {
  readonly provider: ClusterId;
  readonly identity: string;
}

const bindingPlace = /^apis\.kcp\.io\/apibindings\//;
/** Objects of bound kinds lie under the identity of their export. */
const boundPlace = /^([^/]+\/[^/:]+:)([^/]+)(\/.*)$/;

/** Fits bindings, and what was made of them, to the exports that are here: identities mean nothing in another installation. */
export function rebindLines(lines: readonly TransferLine[], options: RebindingOptions): Rebinding {
  const counts = new Map<string, number>();
  for (const { at } of lines) {
    const identity = boundPlace.exec(at)?.[2];
    if (identity !== undefined) counts.set(identity, (counts.get(identity) ?? 0) + 1);
  }
  const present = presentExports(options);
  const identities = new Map<string, string>();
  const skipped: string[] = [];
  const unbound: Unbound[] = [];
  const rebound: string[] = [];
  const fitted = new Map<TransferLine, KubeObject | undefined>();
  for (const line of lines) {
    const binding = bindingPlace.test(line.at) ? (line.object as ApiBinding) : undefined;
    const reference = binding && referenceOf(binding);
    if (binding === undefined || reference === undefined) continue;
    const name = binding.metadata.name!;
    const others = [...new Set(boundResources(binding.status).map(({ identity }) => identity))];
    const objects = others.reduce((sum, identity) => sum + (counts.get(identity) ?? 0), 0);
    const found = findExport(reference, lines, options);
    const report = (reason: Unbound['reason']): number =>
      unbound.push({ binding: name, export: printReference(reference), reason, objects });
    if (found === undefined) {
      report('NoExport');
      continue;
    }
    const isTwice = (present.get(`${found.provider}|${reference.name}`) ?? name) !== name;
    const isSame = others.every((identity) => identity === found.identity);
    if (!isSame && !options.rebind && !(isTwice && objects === 0)) {
      report('OtherIdentity');
      continue;
    }
    if (!isSame && options.rebind) {
      for (const identity of others) identities.set(identity, found.identity);
      if (!isTwice || objects > 0) rebound.push(name);
    }
    if (isTwice) skipped.push(line.at);
    fitted.set(line, isTwice ? undefined : fit(binding, found, reference.name));
  }
  const moved = new Map<string, string>();
  const kept = lines.flatMap((line): TransferLine[] => {
    const object = fitted.has(line) ? fitted.get(line) : line.object;
    if (object === undefined) return [];
    const at = movedPlace(line.at, identities);
    if (at !== line.at) moved.set(at, line.at);
    return [{ at, object: bindingPlace.test(at) ? withClaims(object as ApiBinding, identities) : object }];
  });
  return { lines: kept, skipped, unbound, rebound, moved };
}

/** `provider|name` of what the workspace is bound to → the name of the binding. */
function presentExports({ objects, tree, cluster }: RebindingOptions): Map<string, string> {
  const present = new Map<string, string>();
  for (const binding of objects.list(apiBindings, cluster)) {
    const reference = referenceOf(binding);
    const provider = reference && (reference.path === '' ? cluster : tree.resolve(reference.path));
    if (provider !== undefined) present.set(`${provider}|${reference!.name}`, binding.metadata.name!);
  }
  return present;
}

/** The export here; one that comes along keeps its key, and with it its identity. */
function findExport(
  { path, name }: { path: string; name: string },
  lines: readonly TransferLine[],
  { objects, tree, cluster, from }: RebindingOptions,
): Found | undefined {
  const isOwn = path === '' || path === from;
  const provider = isOwn ? cluster : tree.resolve(path);
  if (provider === undefined) return undefined;
  const exported =
    objects.get({ ...apiExports, cluster: provider, namespace: '', name }) ??
    (isOwn
      ? (lines.find(({ at }) => at === `${apiExports.group}/${apiExports.resource}//${name}`)?.object as ApiExport | undefined)
      : undefined);
  return exported && { provider, identity: exported.status?.identityHash ?? '' };
}

/** The binding, of the export that is here. Its schemas are others: they are bound anew by whoever looks after bindings. */
function fit(binding: ApiBinding, { provider, identity }: Found, name: string): ApiBinding {
  const { status = {} } = binding;
  const bound = (status.boundResources ?? []).map((one) => ({ ...one, schema: { ...one.schema, identityHash: identity } }));
  return {
    ...binding,
    metadata: { ...binding.metadata, labels: { ...binding.metadata.labels, [exportLabel]: exportLabelValue(provider, name) } },
    ...(Object.keys(status).length > 0 && {
      status: { ...status, apiExportClusterName: provider, ...(bound.length > 0 && { boundResources: bound }) },
    }),
  };
}

function withClaims(binding: ApiBinding, identities: ReadonlyMap<string, string>): ApiBinding {
  const { spec } = binding;
  if (identities.size === 0 || spec?.permissionClaims === undefined) return binding;
  const permissionClaims = spec.permissionClaims.map((claim) => {
    const identityHash = identities.get(claim.identityHash ?? '');
    return identityHash === undefined ? claim : { ...claim, identityHash };
  });
  return { ...binding, spec: { ...spec, permissionClaims } };
}

function movedPlace(at: string, identities: ReadonlyMap<string, string>): string {
  if (identities.size === 0) return at;
  const [, kind, identity = '', rest] = boundPlace.exec(at) ?? [];
  const to = identities.get(identity);
  return to === undefined ? at : `${kind}${to}${rest}`;
}
