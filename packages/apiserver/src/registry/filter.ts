import { type ClusterId, claimLabelPrefix, everyCluster } from '@capstan/api';
import {
  checkFieldLabels,
  type FieldSelector,
  type LabelSelector,
  parseFieldSelector,
  parseLabelSelector,
  status,
} from '@capstan/machinery';
import { claimsName } from '../bindings/names.ts';
import type { CacheEntry } from '../cache/entry.ts';
import { movedEntry, objectOf, type Resource } from './resource.ts';
import type { RequestInfo, Scope } from './scope.ts';

/** The objects of a resource that a list, watch or deletion covers. */
export interface Filter {
  /** The prefix of the keys: the workspace, and the namespace if given. Empty for all workspaces. */
  readonly prefix: string;
  /** Undefined without a selector: everything below the prefix is covered. */
  readonly selects: ((entry: CacheEntry) => boolean) | undefined;
  /** The names that the view depends on: the key of the scope, and the origin of objects from elsewhere. Empty for direct access. */
  readonly through: readonly string[];
  /** The event type for an existing object that starts to match; ADDED if undefined. */
  readonly enters?: 'MODIFIED';
  /** Filters with equal keys select the same objects. */
  readonly key: string;
}

const plainly: readonly string[] = [];

/** Longer selectors are rejected before they are parsed. */
const selectorLimit = 64 << 10;

export function filterOf(resource: Resource, info: RequestInfo): Filter {
  const labelText = info.query.get('labelSelector') ?? '';
  const fieldText = info.query.get('fieldSelector') ?? '';
  if (labelText.length > selectorLimit || fieldText.length > selectorLimit) {
    throw status.badRequest(`selectors may be at most ${selectorLimit} characters long`);
  }
  let namespace = info.namespace;
  // A path such as /api/v1/watch/namespaces/x names one object instead of using a selector.
  const nameText =
    info.name !== '' && !fieldText.includes('metadata.name')
      ? `metadata.name=${info.name}${fieldText === '' ? '' : `,${fieldText}`}`
      : fieldText;
  const labels = labelText === '' ? undefined : parseLabelSelector(labelText);
  const fields = nameText === '' ? undefined : parseFieldSelector(nameText);
  if (fields !== undefined) {
    checkFieldLabels(fields, { own: resource.strategy.selectableLabels, namespaced: resource.namespaced, kind: resource.kind });
    if (namespace === '' && resource.namespaced) namespace = fields.exact('metadata.namespace') ?? '';
  }
  const { origin } = resource;
  const { scope } = info;
  const isOfClaims = labels?.requirements.some(({ key }) => key.startsWith(claimLabelPrefix)) === true;
  const labelled = isOfClaims ? scope?.labelled : undefined;
  const selects = labels === undefined && fields === undefined ? undefined : selection(resource, { labels, fields, labelled });
  const cluster = origin?.cluster ?? info.cluster;
  const everywhere = cluster === everyCluster;
  const prefix = everywhere ? '' : prefixOf(resource, cluster, namespace);
  const { visible } = info;
  const isFiltered = origin !== undefined || scope?.shows !== undefined || visible !== undefined;
  const parts = [
    !isFiltered ? undefined : (entry: CacheEntry) => isShown(resource, entry, info),
    everywhere && namespace !== '' ? (entry: CacheEntry) => namespaceOf(entry) === namespace : undefined,
    selects,
  ].filter((part) => part !== undefined);
  const seen = scope === undefined ? plainly : labelled === undefined ? [scope.key] : [scope.key, claimsName(cluster)];
  const known = visible === undefined ? seen : [...seen, visible.key];
  const through = origin === undefined ? known : [...known, ...origin.names];
  const key = `${through.join(' ')}\n${prefix}\n${everywhere ? namespace : ''}\n${labelText}\n${nameText}`;
  const selectsAll = parts.length > 1 ? (entry: CacheEntry): boolean => parts.every((part) => part(entry)) : parts[0];
  return { prefix, through, selects: selectsAll, key, ...(scope?.enters !== undefined && { enters: scope.enters }) };
}

/** Whether a request can see an object. */
export function isShown(resource: Resource, entry: CacheEntry, { scope, cluster, visible }: RequestInfo): boolean {
  if (visible !== undefined && !visible.shows(entry)) return false;
  const shows = scope?.shows;
  if (resource.origin === undefined) return shows?.(resource, entry) !== false;
  if (!resource.origin.shows(entry)) return false;
  // An object served in several workspaces is checked per workspace when it is moved there.
  return shows === undefined || cluster === everyCluster || shows(resource, movedEntry(entry, cluster));
}

function prefixOf({ namespaced }: Resource, cluster: ClusterId, namespace: string): string {
  if (!namespaced) return `${cluster}//`;
  return namespace === '' ? `${cluster}/` : `${cluster}/${namespace}/`;
}

const namespaceOf = ({ key }: CacheEntry): string => key.slice(key.indexOf('/') + 1, key.lastIndexOf('/'));

interface Selectors {
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
  /** Set if selectors may match labels that exist only in the view. */
  readonly labelled: Scope['labelled'];
}

function selection(resource: Resource, { labels, fields, labelled }: Selectors): (entry: CacheEntry) => boolean {
  const onlyName =
    fields === undefined || fields.requirements.every(({ field }) => field === 'metadata.name' || field === 'metadata.namespace');
  return (entry) => {
    if (labels !== undefined && !labels.matches((labelled?.(resource, entry) ?? entry).labels)) return false;
    if (fields === undefined) return true;
    const own = onlyName ? undefined : resource.strategy.selectableFields?.(objectOf(resource, entry));
    return fields.matches((field) => {
      if (field === 'metadata.name') return entry.key.slice(entry.key.lastIndexOf('/') + 1);
      if (field === 'metadata.namespace') return namespaceOf(entry);
      return own !== undefined && Object.hasOwn(own, field) ? own[field]! : '';
    });
  };
}
