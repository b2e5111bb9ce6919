import type { KubeObject } from '@capstan/machinery/objects';
import type { Change } from './protocol.ts';

const nameOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

/** The objects of a list, in the order in which they came. */
export class LiveList {
  readonly #objects = new Map<string, KubeObject>();

  replace(items: readonly KubeObject[]): void {
    this.#objects.clear();
    for (const item of items) this.#objects.set(nameOf(item), item);
  }

  apply(changes: readonly Change[]): void {
    for (const { type, object } of changes) {
      if (type === 'DELETED') this.#objects.delete(nameOf(object));
      else this.#objects.set(nameOf(object), object);
    }
  }

  items(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }
}
