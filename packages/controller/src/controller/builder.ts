import { clusterOf, type InformerSelection, type ObjectKey, objectKey, type ResourceType } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { Controller, type ControllerOptions, type Reconciler, type Source } from './controller.ts';
import type { Predicate } from './predicate.ts';

/** A type whose kind is known, so that owner references to it can be read. */
export interface KindType extends ResourceType {
  readonly kind: string;
}

export interface SourceOptions<T extends KubeObject = KubeObject> extends InformerSelection {
  readonly predicate?: Predicate<T>;
}

/** Begins the description of a controller. The name stands in metrics and events. */
export function controller(name: string): { for<T extends KubeObject>(type: KindType, options?: SourceOptions<T>): ControllerBuilder<T> } {
  return {
    for: (type, options = {}) =>
      new ControllerBuilder({ name, type, primary: sourceOf(type, options, (object) => [objectKey(object)]), sources: [] }),
  };
}

interface Draft {
  readonly name: string;
  readonly type: KindType;
  readonly primary: Source;
  readonly sources: readonly Source[];
}

export class ControllerBuilder<T extends KubeObject> {
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  /** Objects that the reconciler makes: when one changes, its owner is looked at. */
  owns<S extends KubeObject = KubeObject>(type: ResourceType, options: SourceOptions<S> = {}): ControllerBuilder<T> {
    const owner = this.#draft.type;
    return this.#with(sourceOf(type, options, (object) => ownersOf(object, owner)));
  }

  /** Other objects that matter: `map` tells which ones to look at when one of them changes. */
  watches<S extends KubeObject = KubeObject>(
    type: ResourceType,
    map: (object: S) => readonly ObjectKey[],
    options: SourceOptions<S> = {},
  ): ControllerBuilder<T> {
    return this.#with(sourceOf(type, options, map));
  }

  reconcile(reconciler: Reconciler<T>, options: ControllerOptions = {}): Controller<T> {
    const { name, primary, sources } = this.#draft;
    return new Controller<T>({ name, primary, sources, reconciler, options });
  }

  #with(source: Source): ControllerBuilder<T> {
    return new ControllerBuilder<T>({ ...this.#draft, sources: [...this.#draft.sources, source] });
  }
}

function sourceOf<S extends KubeObject>(type: ResourceType, options: SourceOptions<S>, map: (object: S) => readonly ObjectKey[]): Source {
  const { predicate, ...selection } = options;
  return { type, selection, predicate: predicate as Predicate | undefined, keysOf: map as Source['keysOf'] };
}

/** The controlling owner, when it is of that type. Its version does not matter. */
function ownersOf(object: KubeObject, owner: KindType): ObjectKey[] {
  const cluster = clusterOf(object);
  return (object.metadata.ownerReferences ?? [])
    .filter(({ controller: controls, kind, apiVersion }) => controls === true && kind === owner.kind && groupOf(apiVersion) === owner.group)
    .map(({ name }) => ({
      ...(cluster !== undefined && { cluster }),
      ...(owner.namespaced && object.metadata.namespace !== undefined && { namespace: object.metadata.namespace }),
      name,
    }));
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash === -1 ? '' : apiVersion.slice(0, slash);
}
