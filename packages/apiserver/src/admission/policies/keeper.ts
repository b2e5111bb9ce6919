import type { KubeObject } from '@capstan/machinery';
import { fieldsOf } from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { Backend } from '../../registry/objects.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import { serverContext } from '../../upkeep/context.ts';
import { Turns } from '../../upkeep/turns.ts';
import { type ExpressionWarning, typeWarnings } from './type-check.ts';

export interface PolicyKeeperOptions {
  readonly backend: Backend;
  readonly catalogs: Catalogs;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

const manager = 'validatingadmissionpolicy-status-controller';

/** Writes type-checking warnings to the status of every policy, once per generation. */
export class PolicyKeeper implements Disposable {
  readonly #options: PolicyKeeperOptions;
  readonly #resource: Resource;
  readonly #turns: Turns<string>;

  constructor(options: PolicyKeeperOptions) {
    this.#options = options;
    this.#turns = new Turns({ work: (key) => this.#check(key), onError: options.onError });
    this.#resource = options.catalogs.builtin.resource('admissionregistration.k8s.io', 'v1', 'validatingadmissionpolicies')!;
    const held = options.backend.cache.resource(this.#resource);
    held.listeners.add({
      changed: (events) => {
        for (const { type, entry } of events) if (type !== 'DELETED') this.#turns.ask(entry.key);
      },
    });
    held.entries.walk('', '\uffff', (entry: CacheEntry) => {
      this.#turns.ask(entry.key);
      return true;
    });
  }

  [Symbol.dispose](): void {
    this.#turns[Symbol.dispose]();
  }

  async #check(key: string): Promise<void> {
    const { backend, catalogs, now } = this.#options;
    const current = backend.cache.resource(this.#resource).entries.get(key)?.object;
    if (current === undefined || !isUnchecked(current)) return;
    const [, , name = ''] = key.split('/');
    const cluster = clusterOfKey(key);
    const context = serverContext({ cluster, objects: backend.cache, now, userAgent: manager });
    await update(backend, context, {
      resource: this.#resource,
      namespace: '',
      name,
      subresource: 'status',
      manager,
      dryRun: false,
      change: async (policy) => {
        if (!isUnchecked(policy)) return { object: policy };
        return { object: checked(policy, await context.pace().run(typeWarnings(policy, catalogs.of(cluster)))) };
      },
    });
  }
}

function isUnchecked(policy: KubeObject): boolean {
  return fieldsOf(policy['status'])['observedGeneration'] !== policy.metadata.generation;
}

function checked(policy: KubeObject, warnings: readonly ExpressionWarning[]): KubeObject {
  const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
  return { ...policy, status: { ...fieldsOf(policy['status']), observedGeneration: policy.metadata.generation, typeChecking } };
}
