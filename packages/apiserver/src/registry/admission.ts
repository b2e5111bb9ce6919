import type { StoredKind } from '@capstan/api';
import type { DeleteOptions, KubeObject, ObjectType } from '@capstan/machinery';
import type { RequestContext } from './context.ts';
import type { Reinvocation } from './reinvocation.ts';
import type { Resource } from './resource.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/**
 * A change about to be made.
 *
 * Objects may be read by the type of their kind once they have passed its schema. Stored objects have: `old`, and everything in the cache. `object` has
 * only in `validate` and `accompany`, which run after validation: see `isValidated`. In `mutate` and `complete`, which run before, a field may hold anything
 * that a client, a webhook or a policy has put there, so they use checked reads such as `fieldsOf`.
 */
export interface AdmissionRequest<T extends KubeObject = KubeObject> {
  readonly operation: Operation;
  readonly resource: Resource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The new object; undefined for deletions. Mutating plugins modify it in place. */
  readonly object: T | undefined;
  /** The current object; undefined for creations. */
  readonly old: T | undefined;
  readonly context: RequestContext;
  readonly dryRun: boolean;
  /** The type of `object` and `old` if a subresource has another one than the resource itself: a `Scale`, a `Binding`. */
  readonly shape?: Shape;
  /** With `shape`: the object of the resource itself, which the change of `object` will be written into. */
  readonly whole?: { readonly object: KubeObject; readonly old: KubeObject };
  /** The options of a deletion. */
  readonly options?: DeleteOptions;
  /** Carries the state of plugins from the first mutating round to the second, if any of them wants one. */
  reinvocation?: Reinvocation;
}

export interface Shape {
  readonly groupVersion: string;
  readonly kind: string;
  readonly type: ObjectType | undefined;
}

/**
 * A rule about changes that does not belong to a kind. Throws a `StatusError` to reject a change. Most plugins are synchronous:
 * only webhooks return promises.
 */
export interface AdmissionPlugin {
  readonly name: string;
  mutate?(request: AdmissionRequest): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
}

/** Whether the request is about objects of this kind. */
export function isOf({ resource }: AdmissionRequest, wanted: StoredKind): boolean {
  return resource.resource === wanted.resource && resource.group === wanted.group;
}

/**
 * The same, after validation: its objects then have the type of the kind. Only for `validate` and `accompany`. The type is that of the stored version; requests in another
 * version are converted first.
 */
export function isValidated<T extends KubeObject>(request: AdmissionRequest, wanted: StoredKind<T>): request is AdmissionRequest<T> {
  return isOf(request, wanted);
}

type Ask = (request: AdmissionRequest) => void | Promise<void>;

/** Plugins in calling order. Synchronous unless one of them has to wait. */
export class Admission {
  readonly #mutating: readonly Ask[];
  readonly #validating: readonly Ask[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#mutating = plugins.flatMap((plugin) => plugin.mutate?.bind(plugin) ?? []);
    this.#validating = plugins.flatMap((plugin) => plugin.validate?.bind(plugin) ?? []);
  }

  mutate(request: AdmissionRequest): void | Promise<void> {
    const pending = run(this.#mutating, request);
    if (pending !== undefined) return pending.then(() => this.#again(request));
    return this.#again(request);
  }

  validate(request: AdmissionRequest): void | Promise<void> {
    return run(this.#validating, request);
  }

  #again(request: AdmissionRequest): void | Promise<void> {
    const { reinvocation } = request;
    if (reinvocation?.wanted !== true) return;
    reinvocation.isSecondRound = true;
    return run(this.#mutating, request);
  }
}

function run(asks: readonly Ask[], request: AdmissionRequest): void | Promise<void> {
  for (let at = 0; at < asks.length; at++) {
    const pending = asks[at]!(request);
    if (pending !== undefined) return runRest(asks, request, { pending, next: at + 1 });
  }
}

async function runRest(
  asks: readonly Ask[],
  request: AdmissionRequest,
  { pending, next }: { pending: Promise<void>; next: number },
): Promise<void> {
  await pending;
  for (let at = next; at < asks.length; at++) {
    const waiting = asks[at]!(request);
    if (waiting !== undefined) await waiting;
  }
}
