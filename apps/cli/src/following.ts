import { setTimeout as sleep } from 'node:timers/promises';
import { isExpired, type Resource } from '@capstan/client';
import { Backoff, type KubeObject } from '@capstan/machinery';
import { isPassing } from './units/units.ts';

export interface FollowOptions<T extends KubeObject> {
  /** That of the list before. */
  readonly resourceVersion: string;
  /** The objects of the list before. */
  readonly items: readonly T[];
  /** One line that says how an object is, and how others tell it from this one. */
  readonly lineOf: (object: T) => string;
  readonly nameOf: (object: T) => string;
  readonly write: (line: string) => void;
  readonly onTrouble?: (reason: string | undefined) => void;
}

/** Prints a line for each object that changes, if the line does, whatever happens to the connection. Ends only with an error that does not pass. */
export async function followChanges<T extends KubeObject>(
  resource: Pick<Resource<T>, 'watch' | 'list'>,
  { resourceVersion, items, lineOf, nameOf, write, onTrouble = tellTrouble }: FollowOptions<T>,
): Promise<never> {
  const printed = new Map<string, string>();
  for (const item of items) printed.set(nameOf(item), lineOf(item));
  const tell = (name: string, line: string): void => {
    if (printed.get(name) !== line) write(`${name}: ${line}`);
    printed.set(name, line);
  };
  const tellDeleted = (name: string): void => {
    tell(name, 'deleted');
    printed.delete(name);
  };
  const backoff = new Backoff({ base: 200, max: 3_000, random: Math.random });
  let isTroubled = false;
  for (let from: string | undefined = resourceVersion; ; ) {
    try {
      if (from === undefined) {
        const again = await resource.list();
        const present = new Set(again.items.map(nameOf));
        for (const name of [...printed.keys()]) if (!present.has(name)) tellDeleted(name);
        for (const item of again.items) tell(nameOf(item), lineOf(item));
        from = again.metadata.resourceVersion;
      }
      if (isTroubled) onTrouble(undefined);
      isTroubled = false;
      for await (const { type, object } of resource.watch({ resourceVersion: from, allowWatchBookmarks: true })) {
        backoff.reset();
        from = object.metadata.resourceVersion ?? from;
        if (type === 'DELETED') tellDeleted(nameOf(object));
        else if (type !== 'BOOKMARK') tell(nameOf(object), lineOf(object));
      }
    } catch (error) {
      if (!isPassing(error) && !isExpired(error)) throw error;
      if (!isTroubled && !isExpired(error)) onTrouble((error as Error).message);
      isTroubled ||= !isExpired(error);
      from = undefined;
    }
    // A server may end watches as soon as they begin.
    await sleep(backoff.next());
  }
}

/** Says that a command lost its server and goes on trying, and, with undefined, that it has it back. */
export function tellTrouble(reason: string | undefined): void {
  process.stderr.write(reason === undefined ? 'Connected again.\n' : `The connection was lost (${reason}). Reconnecting…\n`);
}
