import { rootCluster } from '@capstan/api';
import type { RuleCompiler } from '@capstan/kinds';
import { asJson, fieldsOf, itemsOf, type KubeObject } from '@capstan/machinery';
import { CacheEntry, servedText, storedText } from '../../cache/entry.ts';
import type { ConversionParts } from '../../crds/conversion.ts';
import { Definition } from '../../crds/definition.ts';
import { WorkspaceKinds } from '../../crds/kinds.ts';
import type { Conversion } from '../../registry/resource.ts';
import { toV1alpha1, toV1alpha2 } from './conversions.ts';
import { kcpDefinitions, systemKinds } from './definitions.ts';

/** kcp's kinds, created once for all workspaces. */
export class PlatformKinds {
  /** The kinds that every workspace has. */
  readonly system = new WorkspaceKinds();
  /** All kinds, including those that workspaces get by binding the root workspace's exports. */
  readonly all = new WorkspaceKinds();

  constructor(rules: RuleCompiler) {
    for (const object of kcpDefinitions()) {
      const name = object.metadata.name!;
      const key = `${rootCluster}//${name}`;
      const entry = new CacheEntry(key, servedText(key, storedText(converted(object)), 0), 0);
      const definition = new Definition({ entry, rules, since: 0, webhook: conversionOf });
      this.all.set(definition);
      if (systemKinds.has(name)) this.system.set(definition);
    }
  }
}

/** Kinds with two versions need a real conversion; it is declared as a webhook but runs in this process. */
function converted(definition: KubeObject): KubeObject {
  const spec = fieldsOf(definition['spec']);
  if (itemsOf(spec['versions']).length === 1) return definition;
  return { ...definition, spec: { ...spec, conversion: { strategy: 'Webhook' } } };
}

function conversionOf({ summary, version, schemaOf }: ConversionParts): Conversion {
  const { storageVersion } = summary;
  if (version.name === storageVersion) return { applies: () => false, toStorage: (object) => object, fromStorage: (object) => object };
  return {
    toStorage: (object) => {
      const stored = toV1alpha2(structuredClone(object));
      schemaOf(storageVersion).applyDefaults(asJson(stored));
      return stored;
    },
    fromStorage: toV1alpha1,
  };
}
