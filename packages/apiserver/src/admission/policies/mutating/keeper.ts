import type { KubeObject } from '@capstan/machinery';
import type { CacheEntry } from '../../../cache/entry.ts';
import { clusterOfKey } from '../../../cache/key.ts';
import { printHeld } from '../../../registry/quarantine.ts';
import type { Resource } from '../../../registry/resource.ts';
import { update } from '../../../registry/update.ts';
import { serverContext } from '../../../upkeep/context.ts';
import { Turns } from '../../../upkeep/turns.ts';
import type { PolicyKeeperOptions } from '../keeper.ts';
import { evaluatedPolicy } from '../policy.ts';

const manager = 'mutatingadmissionpolicy-quarantine-controller';
/** Says why a policy is not evaluated. Kubernetes gives this kind no status that could. */
export const quarantinedAnnotation = 'capstan.dev/quarantined';

/** Marks every MutatingAdmissionPolicy that is in quarantine, and unmarks it when it was changed. */
export class MutatingPolicyKeeper implements Disposable {
  readonly #options: PolicyKeeperOptions;
  readonly #resource: Resource;
  readonly #turns: Turns<string>;

  /** Undefined unless the server serves the kind, which Kubernetes does not by default. */
  static start(options: PolicyKeeperOptions): MutatingPolicyKeeper | undefined {
    const resource = options.catalogs.builtin.resource('admissionregistration.k8s.io', 'v1beta1', 'mutatingadmissionpolicies');
    return resource && new MutatingPolicyKeeper(options, resource);
  }

  private constructor(options: PolicyKeeperOptions, resource: Resource) {
    this.#options = options;
    this.#resource = resource;
    this.#turns = new Turns({ work: (key) => this.#check(key), onError: options.onError });
    const held = options.backend.cache.resource(this.#resource);
    const ask = ({ key }: CacheEntry): void => this.#turns.ask(key);
    held.listeners.add({
      changed: (events) => {
        for (const { type, entry } of events) if (type !== 'DELETED') ask(entry);
      },
    });
    // Policies get into quarantine only while no server runs.
    held.entries.walk('', '\uffff', (entry: CacheEntry) => {
      ask(entry);
      return true;
    });
  }

  [Symbol.dispose](): void {
    this.#turns[Symbol.dispose]();
  }

  #markOf(policy: KubeObject): string | undefined {
    const held = this.#options.quarantine.held(evaluatedPolicy(policy).identity);
    return held && printHeld(held);
  }

  async #check(key: string): Promise<void> {
    const { backend, now } = this.#options;
    const current = backend.cache.resource(this.#resource).entries.get(key)?.object;
    if (current === undefined || this.#markOf(current) === current.metadata.annotations?.[quarantinedAnnotation]) return;
    const [, , name = ''] = key.split('/');
    const context = serverContext({ cluster: clusterOfKey(key), objects: backend.cache, now, userAgent: manager });
    await update(backend, context, {
      resource: this.#resource,
      namespace: '',
      name,
      subresource: '',
      manager,
      dryRun: false,
      change: (policy) => ({ object: marked(policy, this.#markOf(policy)) }),
    });
  }
}

function marked(policy: KubeObject, mark: string | undefined): KubeObject {
  const { [quarantinedAnnotation]: _, ...others } = policy.metadata.annotations ?? {};
  const annotations = mark === undefined ? others : { ...others, [quarantinedAnnotation]: mark };
  return { ...policy, metadata: { ...policy.metadata, annotations } };
}
