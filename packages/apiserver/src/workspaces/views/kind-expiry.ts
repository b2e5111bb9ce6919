import { factsOf } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { apiExports } from '../../bindings/names.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { WatchHub } from '../../watch/hub.ts';
import type { BoundDefinitions } from '../kinds/bound-definitions.ts';

/** Ends watches of bound kinds whose schema or conversion rules have changed. Clients reconnect to the new kind. */
export function followBoundKinds({ cache, hub, bound }: { cache: WatchCache; hub: WatchHub; bound: BoundDefinitions }): void {
  const end = (kind: { group: string; resource: string; identity: string }, prefix: string): void =>
    hub.endWatches(cache.resource({ group: kind.group, resource: `${kind.resource}:${kind.identity}` }), prefix);
  bound.listeners.add((definitions) => {
    for (const { stored } of definitions) if (stored !== undefined) hub.endWatches(cache.resource(stored.storage), '');
  });
  cache.resource(apiBindings).listeners.add({
    changed: (events) => {
      for (const { type, entry, previous } of events) {
        if (previous === undefined) continue;
        const now = type === 'DELETED' ? [] : factsOf(entry).bound;
        for (const was of factsOf(previous).bound)
          if (!now.some((one) => one.schema === was.schema && one.identity === was.identity)) end(was, `${clusterOfKey(entry.key)}/`);
      }
    },
  });
  cache.resource(apiExports).listeners.add({
    changed: (events) => {
      for (const { entry, previous } of events) {
        if (previous === undefined || previous.text === entry.text) continue;
        const identity = previous.object.status?.identityHash ?? '';
        if (identity === '') continue;
        const now = entry.object.spec?.resources ?? [];
        for (const was of previous.object.spec?.resources ?? [])
          if (!now.some(({ schema }) => schema === was.schema)) end({ group: was.group, resource: was.name, identity }, '');
      }
    },
  });
}
