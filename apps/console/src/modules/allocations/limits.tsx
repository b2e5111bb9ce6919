import { computeUsageKind, computeUsageName, type UsedLimit } from '@capstan/api';
import { Meter } from '../../components/meter.tsx';
import { Facts } from '../../components/page.tsx';
import { bytes, cores, count } from '../format/format.ts';
import { useLiveObject } from '../live/use-live.ts';
import { FollowedView } from '../problems/views.tsx';

/** An amount of a limit, as people say it. */
export function limitWords({ resource, model, measure }: Pick<UsedLimit, 'resource' | 'model' | 'measure'>, amount: number): string {
  switch (resource) {
    case 'allocations':
      return count(amount, 'allocation');
    case 'gpus':
      return count(amount, 'GPU');
    case 'model':
      return `${amount} ${model}`;
    case 'gpuMemory':
    case 'memory':
    case 'storage':
      return bytes(amount);
    case 'cpu':
      return cores(amount);
    case 'other':
      return `${amount.toLocaleString('en')} ${measure}`;
  }
}

/** Counts need their noun only once: `3 of 8 GPUs`. */
const usedWords = (limit: UsedLimit): string =>
  ['allocations', 'gpus', 'model', 'other'].includes(limit.resource) ? limit.used.toLocaleString('en') : limitWords(limit, limit.used);

const names: Readonly<Record<UsedLimit['resource'], string>> = {
  allocations: 'Allocations',
  gpus: 'GPUs',
  model: 'GPUs of a model',
  gpuMemory: 'GPU memory',
  cpu: 'Cores',
  memory: 'Memory',
  storage: 'Storage',
  other: 'Other',
};

/** The limits that hold for a workspace, with their use. Nothing if there are none. */
export function Limits({ workspace, empty = null }: { readonly workspace: string; readonly empty?: React.ReactNode }) {
  const usage = useLiveObject(computeUsageKind, { workspace, name: computeUsageName });
  return (
    <FollowedView of={usage} what="limits">
      {(found) => {
        const limits = found?.status?.limits ?? [];
        return limits.length === 0 ? empty : <LimitFacts workspace={workspace} limits={limits} />;
      }}
    </FollowedView>
  );
}

function LimitFacts({ workspace, limits }: { readonly workspace: string; readonly limits: readonly UsedLimit[] }) {
  return (
    <Facts
      facts={limits.map((limit) => {
        const of = limit.workspace === workspace ? '' : ` · limit of ${limit.workspace}`;
        const text = `${usedWords(limit)} of ${limitWords(limit, limit.limit)}`;
        const share = limit.limit === 0 ? 1 : Math.min(1, limit.used / limit.limit);
        return [`${names[limit.resource]}${of}`, <Meter key={text} share={share} text={text} />] as const;
      })}
    />
  );
}
