/**
 * The path of the usage ledger. `GET`: in the root workspace the usage of all workspaces, and in any other its own. `POST`, in root:platform only: facts, from compute's
 * scheduler.
 */
export const usagePath = '/capstan/usage';

/** A part of an allocation on one node, from the moment in which it was granted, or a size of a volume, from the moment in which it has it. A fact is written once, and its end is written once. */
export interface UsageFact {
  /** Id of the workspace. */
  readonly cluster: string;
  /** Of the Allocation, or the name of the NodeVolume. */
  readonly uid: string;
  readonly attempt: string;
  /** Counts the parts of the allocation. */
  readonly part: number;
  /** Path of the workspace at that time. */
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
  /** Empty for an order without an offering. */
  readonly offering: string;
  /** Empty if it has no GPUs. */
  readonly model: string;
  readonly gpus: number;
  /** In thousandths of a core. */
  readonly cpu: number;
  /** In bytes. */
  readonly memory: number;
  /** The size of a volume, in bytes; absent for allocations. */
  readonly storage?: number;
  readonly node: string;
  /** In RFC 3339 format. */
  readonly begin: string;
  readonly end?: string;
}

/** Ends everything that an allocation or a volume has. Facts that have an end keep it. */
export interface UsageEnd {
  readonly cluster: string;
  readonly uid: string;
  readonly end: string;
  /** The attempt that goes on. */
  readonly except?: string;
}

/** Body of `POST /capstan/usage`. It can be sent any number of times. */
export interface UsageAppend {
  readonly facts: readonly UsageFact[];
  readonly ends: readonly UsageEnd[];
  /** The time of the writer. The ledger keeps the latest, so that the time of a writer that starts anew never goes back. */
  readonly clock: string;
  readonly origin?: ClockOrigin;
}

/**
 * How a writer knows the time. On a machine that still runs since the same start, the next writer counts from the same origin, whatever somebody has set the clock of the
 * machine to meanwhile.
 */
export interface ClockOrigin {
  /** Id of that start. */
  readonly boot: string;
  /** When it was, by the time of the writer: milliseconds since 1970. */
  readonly startedAt: number;
}

/** Response of `POST /capstan/usage`. */
export interface UsageAppended {
  readonly clock: string;
}

/** Response of `GET /capstan/usage?allocation=<id of the workspace>/<uid>` in root:platform, for the writer. */
export interface UsageState {
  /** The latest time of any writer; absent if there was none. */
  readonly clock?: string;
  /** Of the latest writer. */
  readonly origin?: ClockOrigin;
  /** Whether the ledger has facts of the allocation. */
  readonly begun: boolean;
  /** Whether one of them has no end. */
  readonly open: boolean;
}

export const usageGroups = ['workspace', 'offering', 'model', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageAmounts {
  readonly gpuSeconds: number;
  readonly coreSeconds: number;
  readonly memoryGibSeconds: number;
  readonly storageGibSeconds: number;
  /** Number of allocations that have a share in it. */
  readonly allocations: number;
}

/** Response of `GET /capstan/usage`. */
export interface UsageReport {
  readonly from: string;
  readonly to: string;
  readonly groupBy: UsageGroup;
  readonly items: readonly (UsageAmounts & { readonly key: string })[];
  readonly total: UsageAmounts;
}

/** The lines of a report for spreadsheets and programs. */
export function usageCsv({ groupBy, items }: UsageReport): readonly string[] {
  const cells = ({
    key,
    gpuSeconds,
    coreSeconds,
    memoryGibSeconds,
    allocations,
    storageGibSeconds,
  }: UsageReport['items'][number]): string =>
    [csvCell(key), gpuSeconds, coreSeconds, memoryGibSeconds, allocations, storageGibSeconds].map(String).join(',');
  return [`${groupBy},gpu_seconds,core_seconds,memory_gib_seconds,allocations,storage_gib_seconds`, ...items.map(cells)];
}

/** Spreadsheets run cells that begin with certain characters as formulas. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
