import { type UsageAmounts, type UsageGroup, type UsageReport, usageCsv, usagePath } from '@capstan/api';
import { columns } from '../columns.ts';
import { type ConnectionFlags, workspaceClient, workspaceIn } from '../workspaces/connection.ts';
import { pathFrom } from '../workspaces/target.ts';

export interface UsageFlags extends ConnectionFlags {
  readonly workspace?: string;
  readonly from?: string;
  readonly to?: string;
  readonly groupBy: UsageGroup;
  readonly output: 'table' | 'json' | 'csv';
}

/** Prints what a workspace has used; in root, what all workspaces have used. */
export async function usage(flags: UsageFlags): Promise<void> {
  using own = workspaceClient(flags);
  const here = workspaceIn(own.connection.server) ?? 'root';
  const path = flags.workspace === undefined ? here : pathFrom(here, flags.workspace);
  const query = new URLSearchParams({ groupBy: flags.groupBy });
  if (flags.from !== undefined) query.set('from', flags.from);
  if (flags.to !== undefined) query.set('to', flags.to);
  const report = await own.cluster(path).json<UsageReport>({ method: 'GET', path: `${usagePath}?${query.toString()}` });
  for (const line of linesOf(report, flags.output)) process.stdout.write(`${line}\n`);
}

export function linesOf(report: UsageReport, output: UsageFlags['output']): string[] {
  const { groupBy, items, total, from, to } = report;
  switch (output) {
    case 'json':
      return [JSON.stringify(report, undefined, 2)];
    case 'csv':
      return [...usageCsv(report)];
    case 'table':
      return [
        `From ${from} to ${to}`,
        '',
        ...columns([
          [groupBy.toUpperCase(), 'GPU HOURS', 'CORE HOURS', 'MEMORY GIB HOURS', 'STORAGE GIB HOURS', 'ALLOCATIONS'],
          ...items.map((item) => [item.key || '<none>', ...cells(item)]),
          ['total', ...cells(total)],
        ]),
      ];
  }
}

function cells({ gpuSeconds, coreSeconds, memoryGibSeconds, storageGibSeconds, allocations }: UsageAmounts): string[] {
  const hours = (seconds: number): string => (seconds / 3600).toFixed(2);
  return [hours(gpuSeconds), hours(coreSeconds), hours(memoryGibSeconds), hours(storageGibSeconds), String(allocations)];
}
