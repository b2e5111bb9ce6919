import type { KubeObject } from '@capstan/machinery';
import { keepPart } from './parts.ts';
import type { Strategy } from './strategy.ts';
import { applyDefaults, type Defaults, made } from './workloads/defaulting.ts';
import { type Fields, fieldsOf, itemsOf, maybeFields, textOf, textsOf } from './workloads/reading.ts';

/** What a definition says without being understood: the engine that compiles and serves it validates it as well. */

function defaultNames(names: Fields): void {
  const kind = textOf(names['kind']);
  if (!names['singular'] && kind !== '') names['singular'] = kind.toLowerCase();
  if (!names['listKind'] && kind !== '') names['listKind'] = `${kind}List`;
}

const defaults: Defaults = {
  within: {
    spec: {
      set: { conversion: { strategy: 'None' } },
      within: {
        conversion: { within: { webhook: { within: { clientConfig: { within: { service: { set: { port: 443 } } } } } } } },
        names: { also: defaultNames },
      },
    },
  },
};

/** Every version that objects were ever stored in is remembered, until somebody has rewritten them. */
function rememberStorageVersion(object: KubeObject): void {
  const storage = itemsOf(fieldsOf(object['spec'])['versions']).find((version) => version['storage'] === true);
  if (storage === undefined) return;
  const status = fieldsOf(object['status']);
  const stored = textsOf(status['storedVersions']);
  // A new status, since the old object may share this one.
  if (!stored.includes(textOf(storage['name']))) object['status'] = { ...status, storedVersions: [...stored, textOf(storage['name'])] };
}

const customresourcedefinitions: Strategy = {
  generation: true,
  requireResourceVersion: true,
  default(object) {
    made(object, 'spec');
    applyDefaults(object, defaults);
    if (textsOf(fieldsOf(object['status'])['storedVersions']).length === 0) rememberStorageVersion(object);
  },
  prepareForCreate(object) {
    object['status'] = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null };
    rememberStorageVersion(object);
  },
  prepareForUpdate(object, old) {
    keepPart(object, old, 'status');
    rememberStorageVersion(object);
  },
  returnDeletedObject: true,
  status: {
    prepareForUpdate(object, old) {
      keepPart(object, old, 'spec');
      const kept = maybeFields(old.metadata.labels);
      if (kept === undefined) delete object.metadata.labels;
      else object.metadata.labels = kept as Record<string, string>;
    },
  },
};

export const apiextensionsStrategies: ReadonlyMap<string, Strategy> = new Map([
  ['apiextensions.k8s.io/customresourcedefinitions', customresourcedefinitions],
]);
