import { CacheEntry, servedText, storedText } from '../../cache/entry.ts';
import { Definition } from '../../crds/definition.ts';
import { WorkspaceKinds } from '../../crds/kinds.ts';
import type { RuleCompiler } from '../../crds/rules/rules.ts';
import { rootCluster } from '../names.ts';
import { kcpDefinitions, systemKinds } from './definitions.ts';

/** Tenancy's own kinds, each made once for all workspaces. */
export class PlatformKinds {
  /** Those that every workspace has. */
  readonly system = new WorkspaceKinds();
  /** All of them, also those that workspaces have by binding what the root workspace exports. */
  readonly all = new WorkspaceKinds();

  constructor(rules: RuleCompiler) {
    for (const object of kcpDefinitions()) {
      const name = object.metadata.name!;
      const key = `${rootCluster}//${name}`;
      const entry = new CacheEntry(key, servedText(key, storedText(object), 0), 0);
      const definition = new Definition({ entry, rules, since: 0, webhook: unconverted });
      this.all.set(definition);
      if (systemKinds.has(name)) this.system.set(definition);
    }
  }
}

function unconverted(): never {
  throw new Error('kinds of the platform are not converted by webhooks');
}
