import { join } from 'node:path';

/** One run of a program of a unit on a node. */
export interface LogPlace {
  /** Id of the workspace. */
  readonly cluster: string;
  readonly namespace: string;
  readonly nodeUnit: string;
  readonly node: string;
  /** Counts the restarts of the program. */
  readonly incarnation: number;
}

const part = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,252}$/;
const mostIncarnations = 1_000_000;

/** Why a place cannot be a path; undefined if it can. */
export function placeProblem({ cluster, namespace, nodeUnit, node, incarnation }: LogPlace): string | undefined {
  for (const name of [cluster, namespace, nodeUnit, node]) if (!part.test(name)) return `expected a name, found ${JSON.stringify(name)}`;
  if (!Number.isSafeInteger(incarnation) || incarnation < 0 || incarnation > mostIncarnations)
    return `expected a number of restarts of at most ${mostIncarnations}, found ${incarnation}`;
  return undefined;
}

export const workspaceFolder = (directory: string, cluster: string): string => join(directory, cluster);

export const nodeFolder = (directory: string, { cluster, namespace, nodeUnit, node }: Omit<LogPlace, 'incarnation'>): string =>
  join(workspaceFolder(directory, cluster), namespace, nodeUnit, node);

export const logFolder = (directory: string, place: LogPlace): string => join(nodeFolder(directory, place), String(place.incarnation));
