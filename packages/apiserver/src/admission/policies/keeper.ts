import { type KubeObject, StatusError } from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';
import { fieldsOf } from '../../kinds/workloads/reading.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import { RequestContext } from '../../registry/context.ts';
import type { Backend } from '../../registry/objects.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import { parseRequest } from '../../request/info.ts';
import { typeWarnings } from './type-check.ts';

export interface PolicyKeeperOptions {
  readonly backend: Backend;
  readonly catalogs: Catalogs;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

const manager = 'validatingadmissionpolicy-status-controller';

/** Says in the status of every policy what is doubtful about its expressions, once for each generation of it. */
export class PolicyKeeper implements Disposable {
  readonly #options: PolicyKeeperOptions;
  readonly #resource: Resource;
  readonly #waiting = new Set<string>();
  #running = false;
  #stopped = false;

  constructor(options: PolicyKeeperOptions) {
    this.#options = options;
    this.#resource = options.catalogs.builtin.resource('admissionregistration.k8s.io', 'v1', 'validatingadmissionpolicies')!;
    const held = options.backend.cache.resource(this.#resource);
    held.listeners.add({
      changed: (events) => {
        for (const { type, entry } of events) if (type !== 'DELETED') this.#waiting.add(entry.key);
        void this.#run();
      },
    });
    held.entries.walk('', '\uffff', (entry: CacheEntry) => {
      this.#waiting.add(entry.key);
      return true;
    });
    void this.#run();
  }

  [Symbol.dispose](): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    // Whoever wrote the policy is answered first.
    await Promise.resolve();
    for (const key of this.#waiting) {
      if (this.#stopped) break;
      this.#waiting.delete(key);
      try {
        await this.#check(key);
      } catch (error) {
        const isGone = error instanceof StatusError && error.reason === 'NotFound';
        if (!isGone && !this.#stopped) this.#options.onError(error);
      }
    }
    this.#running = false;
  }

  async #check(key: string): Promise<void> {
    const { backend, catalogs, now } = this.#options;
    const current = backend.cache.resource(this.#resource).entries.get(key)?.object;
    if (current === undefined || !isUnchecked(current)) return;
    const [cluster = '', , name = ''] = key.split('/');
    const context = new RequestContext({
      info: { ...parseRequest('PUT', '/'), cluster },
      user: { name: 'system:apiserver', groups: ['system:masters'] },
      objects: backend.cache,
      now,
      userAgent: manager,
    });
    await update(backend, context, {
      resource: this.#resource,
      namespace: '',
      name,
      subresource: 'status',
      manager,
      dryRun: false,
      change: (policy) => ({ object: isUnchecked(policy) ? checked(policy, typeWarnings(policy, catalogs.of(cluster))) : policy }),
    });
  }
}

function isUnchecked(policy: KubeObject): boolean {
  return fieldsOf(policy['status'])['observedGeneration'] !== policy.metadata.generation;
}

function checked(policy: KubeObject, warnings: ReturnType<typeof typeWarnings>): KubeObject {
  const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
  return { ...policy, status: { ...fieldsOf(policy['status']), observedGeneration: policy.metadata.generation, typeChecking } };
}
