import { type UsageGroup, type UsageReport, usagePath } from '@capstan/api';
import { queryOptions } from '@tanstack/react-query';
import { kubeClient } from '../kube/client.ts';

export interface UsageQuery {
  readonly workspace: string;
  /** Days, such as `2026-01-31`. */
  readonly from: string;
  readonly to: string;
  readonly groupBy: UsageGroup;
}

export const usageQuery = ({ workspace, from, to, groupBy }: UsageQuery) =>
  queryOptions({
    queryKey: ['usage', workspace, from, to, groupBy],
    queryFn: () => {
      const query = new URLSearchParams({ groupBy, ...(from !== '' && { from }), ...(to !== '' && { to }) });
      return kubeClient(workspace).json<UsageReport>({ method: 'GET', path: `${usagePath}?${query}` });
    },
  });

export const hours = (seconds: number): string =>
  (seconds / 3600).toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** The amounts that a report has in seconds of use. */
export type UsedSeconds = 'gpuSeconds' | 'coreSeconds' | 'memoryGibSeconds' | 'storageGibSeconds';

/** The hours of each day, also of those without any. */
export function daysOf(
  { from, to, items }: Pick<UsageReport, 'from' | 'to' | 'items'>,
  field: UsedSeconds,
): { readonly times: readonly number[]; readonly hours: readonly number[] } {
  const known = new Map(items.map((item) => [item.key, item[field] / 3600]));
  const times: number[] = [];
  const used: number[] = [];
  for (let day = Date.parse(`${from.slice(0, 10)}T00:00:00Z`); day <= Date.parse(to); day += 86_400_000) {
    times.push(day / 1000);
    used.push(known.get(new Date(day).toISOString().slice(0, 10)) ?? 0);
  }
  return { times, hours: used };
}

/** The first day of the month. */
export const monthStart = (now: Date): string => `${now.toISOString().slice(0, 7)}-01`;
