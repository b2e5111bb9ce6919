import { type Constraint, type Judgement, judge, rankOf } from './judgement.ts';
import { placeNamed } from './named.ts';
import type { NodeRecord } from './node-record.ts';
import type { PlacementRequest } from './request.ts';
import { sentenceOf } from './sentence.ts';
import { order } from './shape.ts';

/** Why a request cannot be placed now. */
export interface Shortage {
  readonly kind: 'short';
  /** In one sentence. */
  readonly message: string;
  /** Nodes that each constraint removed. The rest suffices, but is not enough or not in one place. */
  readonly removed: Readonly<Partial<Record<Constraint, number>>>;
  readonly sufficient: number;
  /** The nodes that have the right GPUs, by class. */
  readonly classes: readonly NodeClass[];
}

/** Nodes of one pool with as many GPUs of the same kind. */
export interface NodeClass {
  readonly pool: string;
  readonly model: string;
  readonly gpuMemory: number;
  readonly migProfile: string | undefined;
  readonly gpusPerNode: number;
  readonly nodes: number;
  /** On all of them together, and at most on one; closed nodes have none. */
  readonly freeGpus: number;
  readonly mostFreeGpus: number;
}

/** Explains a request that has no answer. */
export function explain(request: PlacementRequest, records: ReadonlyMap<string, NodeRecord>): Shortage {
  if (request.named !== undefined) {
    const why = placeNamed(request, request.named, records.get(request.named.node));
    return { kind: 'short', message: typeof why === 'string' ? why : '', removed: {}, sufficient: 0, classes: [] };
  }
  const judgements = [...records.values()].map((record) => judge(request, record));
  const removed: Partial<Record<Constraint, number>> = {};
  let sufficient = 0;
  for (const { constraint } of judgements) {
    if (constraint === undefined) sufficient++;
    else removed[constraint] = (removed[constraint] ?? 0) + 1;
  }
  judgements.sort((one, other) => order(one.record.node.name, other.record.node.name));
  const message = sentenceOf(request, judgements);
  return { kind: 'short', message, removed, sufficient, classes: classesOf(judgements) };
}

function classesOf(judgements: readonly Judgement[]): NodeClass[] {
  const right = judgements.filter(({ constraint }) => rankOf(constraint) >= rankOf('capacity'));
  const byClass = Map.groupBy(right, ({ record, stock }) => `${record.node.pool}/${stock.shape.key}`);
  return [...byClass]
    .sort(([one], [other]) => order(one, other))
    .map(([, members]) => {
      const { record, stock } = members[0]!;
      const free = members.map((one) => (one.record.isOpen ? one.stock.free.length : 0));
      return {
        pool: record.node.pool,
        model: stock.shape.model,
        gpuMemory: stock.shape.memory,
        migProfile: stock.shape.migProfile,
        gpusPerNode: stock.shape.perNode,
        nodes: members.length,
        freeGpus: free.reduce((sum, one) => sum + one, 0),
        mostFreeGpus: free.reduce((most, one) => Math.max(most, one), 0),
      };
    });
}
