import type { Resource } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

export interface FollowOptions<T extends KubeObject> {
  /** That of the list before. */
  readonly resourceVersion: string;
  /** The objects of the list before. */
  readonly items: readonly T[];
  /** One line that says how an object is, and how others tell it from this one. */
  readonly lineOf: (object: T) => string | Promise<string>;
  readonly nameOf: (object: T) => string;
  readonly write: (line: string) => void;
}

/** Prints a line for each object that changes, if the line does, until the watch ends. */
export async function followChanges<T extends KubeObject>(resource: Pick<Resource<T>, 'watch'>, options: FollowOptions<T>): Promise<void> {
  const { resourceVersion, items, lineOf, nameOf, write } = options;
  const printed = new Map<string, string>();
  for (const item of items) printed.set(nameOf(item), await lineOf(item));
  for await (const { type, object } of resource.watch({ resourceVersion })) {
    if (type === 'BOOKMARK') continue;
    const name = nameOf(object);
    const line = type === 'DELETED' ? 'deleted' : await lineOf(object);
    if (printed.get(name) !== line) write(`${name}: ${line}`);
    if (type === 'DELETED') printed.delete(name);
    else printed.set(name, line);
  }
}
