import { join } from 'node:path';

/** One log: the output of one run of a program. */
export interface LogPlace {
  /** The workspace or node whose budget it uses. */
  readonly owner: string;
  /** Folders below that of the owner. */
  readonly names: readonly [string, string, string];
  /** Counts the restarts of a program, or the attempts of a task. */
  readonly run: number;
  /** Lines are in Kubernetes' CRI log format (`cri`) or as the program wrote them (`text`). */
  readonly format: 'cri' | 'text';
}

/** All runs of a program or task. */
export type LogPlaces = Omit<LogPlace, 'run'>;

/** One run of a program of a unit on a node. */
export interface UnitRun {
  /** Id of the workspace. */
  readonly cluster: string;
  readonly namespace: string;
  readonly nodeUnit: string;
  readonly node: string;
  /** Counts the restarts of the program. */
  readonly incarnation: number;
}

export const placesOfUnit = ({ cluster, namespace, nodeUnit, node }: Omit<UnitRun, 'incarnation'>): LogPlaces => ({
  owner: cluster,
  names: [namespace, nodeUnit, node],
  format: 'cri',
});

export const placeOfUnit = ({ incarnation, ...unit }: UnitRun): LogPlace => ({ ...placesOfUnit(unit), run: incarnation });

/** One attempt of a task of a node. */
export interface TaskRun {
  readonly node: string;
  readonly task: string;
  readonly uid: string;
  readonly attempt: number;
}

/** Ids of workspaces have no colon. */
const nodePrefix = 'node:';
const tasksFolder = 'tasks';

/** The output of tasks belongs to the node, not to the workspace of the platform, so that no node uses the room of another. It outlives both. */
export const isOfNode = (owner: string): boolean => owner.startsWith(nodePrefix);

export const placesOfTask = ({ node, task, uid }: Omit<TaskRun, 'attempt'>): LogPlaces => ({
  owner: `${nodePrefix}${node}`,
  names: [tasksFolder, task, uid],
  format: 'text',
});

export const placeOfTask = ({ attempt, ...task }: TaskRun): LogPlace => ({ ...placesOfTask(task), run: attempt });

const part = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,252}$/;
const mostRuns = 1_000_000;

/** Why a place cannot be a path; undefined if it can. */
export function placeProblem({ owner, names, run }: Pick<LogPlace, 'owner' | 'names' | 'run'>): string | undefined {
  for (const name of [owner, ...names]) if (!part.test(name)) return `expected a name, found ${JSON.stringify(name)}`;
  if (!Number.isSafeInteger(run) || run < 0 || run > mostRuns) return `expected a number of runs of at most ${mostRuns}, found ${run}`;
  return undefined;
}

export const ownerFolder = (directory: string, owner: string): string => join(directory, owner);

export const runsFolder = (directory: string, { owner, names }: Pick<LogPlace, 'owner' | 'names'>): string =>
  join(ownerFolder(directory, owner), ...names);

export const logFolder = (directory: string, place: LogPlace): string => join(runsFolder(directory, place), String(place.run));
