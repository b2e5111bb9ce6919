import {
  type Client,
  clusterOf,
  type InformerFactory,
  type InformerSelection,
  type ObjectKey,
  objectKey,
  type ResourceType,
} from '@capstan/client';
import { type KubeObject, parseApiVersion } from '@capstan/machinery';
import type { Channel } from './channel.ts';
import { Controller, type ControllerOptions, type Reconciler, type Signals, type Source } from './controller.ts';
import type { Predicate } from './predicate.ts';

/** A type whose kind is known, so that owner references to it can be recognized. */
export interface KindType extends ResourceType {
  readonly kind: string;
}

export interface SourceOptions<T extends KubeObject = KubeObject> extends InformerSelection {
  readonly predicate?: Predicate<T>;
  /** Where the objects are, if not where the controller's own objects are: another workspace or server, or another user. */
  readonly client?: Client;
}

/** Options for the objects of a controller itself: they are always those of its own client. */
export type PrimaryOptions<T extends KubeObject = KubeObject> = Omit<SourceOptions<T>, 'client'>;

/** Starts the description of a controller. The name appears in metrics, logs and events. */
export function controller(name: string): { for<T extends KubeObject>(type: KindType, options?: PrimaryOptions<T>): ControllerBuilder<T> } {
  return {
    for: (type, options = {}) =>
      new ControllerBuilder({
        name,
        type,
        primary: sourceOf(type, options, (object) => [objectKey(object)]),
        sources: [],
        signals: [],
        reads: () => undefined,
      }),
  };
}

interface Draft<C> {
  readonly name: string;
  readonly type: KindType;
  readonly primary: Source<C>;
  readonly sources: readonly Source<C>[];
  readonly signals: readonly Signals<C>[];
  readonly reads: (informers: InformerFactory, at: (client: Client) => InformerFactory) => C;
}

export class ControllerBuilder<T extends KubeObject, C = undefined> {
  readonly #draft: Draft<C>;

  constructor(draft: Draft<C>) {
    this.#draft = draft;
  }

  /**
   * Local copies of other kinds that the reconciler and the functions of `watches` read. `learn` is called before the informers fill, so it can also add
   * indexes; its result is passed on as `copies`. Reading a kind does not watch it: name it in `watches` too if its changes matter. `at` returns the
   * informers of another client.
   */
  reads<N>(learn: (informers: InformerFactory, at: (client: Client) => InformerFactory) => N): ControllerBuilder<T, N> {
    const { primary, sources, signals } = this.#draft;
    if (sources.length > 0 || signals.length > 0)
      throw new Error('call reads before owns, watches and receives: their functions are given its result');
    // The source of the objects themselves reads no copies.
    return new ControllerBuilder<T, N>({
      ...this.#draft,
      primary: primary as unknown as Source<N>,
      sources: [],
      signals: [],
      reads: learn,
    });
  }

  /** Objects that the reconciler creates: when one changes, its owner is reconciled. */
  owns<S extends KubeObject = KubeObject>(type: ResourceType, options: SourceOptions<S> = {}): ControllerBuilder<T, C> {
    const owner = this.#draft.type;
    return this.#with(sourceOf(type, options, (object) => ownersOf(object, owner)));
  }

  /** Other objects that matter: `map` returns the keys of the objects to reconcile when one of them changes. */
  watches<S extends KubeObject = KubeObject>(
    type: ResourceType,
    map: (object: S, copies: C) => readonly ObjectKey[],
    options: SourceOptions<S> = {},
  ): ControllerBuilder<T, C> {
    return this.#with(sourceOf(type, options, map));
  }

  /** Events from outside of the API: `map` returns the keys of the objects to reconcile. */
  receives<E>(channel: Channel<E>, map: (event: E, copies: C) => readonly ObjectKey[]): ControllerBuilder<T, C> {
    const listen: Signals<C> = (copies, add) =>
      channel.listen((event) => {
        for (const key of map(event, copies)) add(key);
      });
    return new ControllerBuilder<T, C>({ ...this.#draft, signals: [...this.#draft.signals, listen] });
  }

  reconcile(reconciler: Reconciler<T, C>, options: ControllerOptions = {}): Controller<T, C> {
    const { name, primary, sources, signals, reads } = this.#draft;
    return new Controller<T, C>({ name, primary, sources, signals, reads, reconciler, options });
  }

  #with(source: Source<C>): ControllerBuilder<T, C> {
    return new ControllerBuilder<T, C>({ ...this.#draft, sources: [...this.#draft.sources, source] });
  }
}

function sourceOf<S extends KubeObject, C>(
  type: ResourceType,
  options: SourceOptions<S>,
  map: (object: S, copies: C) => readonly ObjectKey[],
): Source<C> {
  const { predicate, client, ...selection } = options;
  return { type, selection, client, predicate: predicate as Predicate | undefined, keysOf: map as Source<C>['keysOf'] };
}

/** The controlling owner, if it is of that kind in any version. */
function ownersOf(object: KubeObject, owner: KindType): ObjectKey[] {
  const cluster = clusterOf(object);
  return (object.metadata.ownerReferences ?? [])
    .filter(
      ({ controller: controls, kind, apiVersion }) =>
        controls === true && kind === owner.kind && parseApiVersion(apiVersion).group === owner.group,
    )
    .map(({ name }) => ({
      ...(cluster !== undefined && { cluster }),
      ...(owner.namespaced && object.metadata.namespace !== undefined && { namespace: object.metadata.namespace }),
      name,
    }));
}
