import { fits } from './demand.ts';
import type { NodeRecord, Stock } from './node-record.ts';
import { type PlacementRequest, type Size, wantsGpus } from './request.ts';
import { gpusNeeded, isShapeFor, order } from './shape.ts';
import type { Buckets, Group, Measure, View, ViewKey } from './view.ts';

/** A node that suffices, and the GPUs of it that are meant. */
export interface Candidate {
  readonly record: NodeRecord;
  readonly stock: Stock;
}

/** One way to satisfy a request: preferences are tried as requirements first, and then dropped. */
interface Attempt {
  readonly isLinked: boolean;
  readonly isGrouped: boolean;
}

/** The nodes of each answer, the best one first: one for each kind of GPUs that suffices. `viewOf` finds the index for a selector. */
export function* search(request: PlacementRequest, viewOf: (key: ViewKey) => View): Generator<readonly Candidate[]> {
  const answered = new Set<string>();
  for (const attempt of attemptsFor(request)) yield* new Search(request, { attempt, answered, viewOf }).run();
}

function attemptsFor({ size, nodes, topology }: PlacementRequest): Attempt[] {
  const linked = choices(size.kind === 'fraction' || size.count > 1 ? size.gpu.nvlink : undefined);
  const grouped = choices(nodes > 1 ? topology?.strength : undefined);
  return grouped.flatMap((isGrouped) => linked.map((isLinked) => ({ isLinked, isGrouped })));
}

function choices(strength: 'required' | 'preferred' | undefined): boolean[] {
  if (strength === undefined) return [false];
  return strength === 'required' ? [true] : [true, false];
}

interface SearchParts {
  readonly attempt: Attempt;
  /** The kinds of GPUs that have an answer already. */
  readonly answered: Set<string>;
  readonly viewOf: (key: ViewKey) => View;
}

class Search {
  readonly #request: PlacementRequest;
  readonly #attempt: Attempt;
  readonly #answered: Set<string>;
  readonly #view: View;
  readonly #withGpus: boolean;

  constructor(request: PlacementRequest, { attempt, answered, viewOf }: SearchParts) {
    const { pools, matchLabels, topology, nodes, size } = request;
    this.#request = request;
    this.#attempt = attempt;
    this.#answered = answered;
    this.#withGpus = wantsGpus(size);
    const label = nodes > 1 ? topology?.label : undefined;
    this.#view = viewOf({ pools, matchLabels, measure: measureFor(size, attempt), withGpus: this.#withGpus, label });
  }

  *run(): Generator<readonly Candidate[]> {
    const { nodes, topology } = this.#request;
    if (nodes === 1 || topology === undefined) {
      const group = this.#view.groups.get(undefined);
      if (group !== undefined) yield* this.#fromGroups([group]);
    } else if (this.#attempt.isGrouped) yield* this.#fromOneGroup();
    else yield* this.#fromGroups(this.#fullestGroups());
  }

  /** The group that is left with the least if packing, or with the most if spreading. */
  *#fromOneGroup(): Generator<readonly Candidate[]> {
    const { nodes, strategy } = this.#request;
    const sign = strategy === 'pack' ? 1 : -1;
    const groups = this.#sizedGroups().filter(({ value, size }) => value !== undefined && size >= nodes);
    groups.sort((one, other) => sign * (one.size - other.size) || order(one.value!, other.value!));
    for (const { group } of groups) yield* this.#fromGroups([group]);
  }

  /** Those with many sufficient nodes first, so that the answer lies in few of them. */
  #fullestGroups(): Group[] {
    const groups = this.#sizedGroups();
    groups.sort((one, other) => other.size - one.size || order(one.value ?? '', other.value ?? ''));
    return groups.map(({ group }) => group);
  }

  #sizedGroups(): { value: string | undefined; group: Group; size: number }[] {
    return [...this.#view.groups].map(([value, group]) => ({ value, group, size: this.#sizeOf(group) }));
  }

  /** How many nodes of the group have enough GPUs, of any kind; cpu and memory are not looked at. */
  #sizeOf(group: Group): number {
    let size = 0;
    for (const { shape, nodes } of group.buckets) {
      if (this.#withGpus && !isShapeFor(shape, this.#request.size)) continue;
      for (let free = gpusNeeded(this.#request.size, shape)!; free < nodes.length; free++) size += nodes[free]!.size;
    }
    return size;
  }

  /** Takes nodes with GPUs of one kind, from the groups in turn. */
  *#fromGroups(groups: readonly Group[]): Generator<readonly Candidate[]> {
    const offered = groups.map((group) => wished(group, this.#request.size));
    for (const kind of kindsIn(offered)) {
      if (this.#answered.has(kind)) continue;
      const found = this.#ofKind(kind, offered);
      if (found === undefined) continue;
      this.#answered.add(kind);
      yield found;
    }
  }

  #ofKind(kind: string, offered: readonly (readonly Buckets[])[]): readonly Candidate[] | undefined {
    const found: Candidate[] = [];
    for (const buckets of offered) {
      const ofKind = buckets.filter(({ shape }) => shape.kind === kind);
      for (const candidate of this.#candidates(ofKind)) if (found.push(candidate) === this.#request.nodes) return found;
    }
    return undefined;
  }

  /** Nodes that suffice: if packing, those with the fewest free GPUs first. */
  *#candidates(offered: readonly Buckets[]): Generator<Candidate> {
    const { size, strategy } = this.#request;
    const least = { cpu: leastOf(size, 'cpu'), memory: leastOf(size, 'memory') };
    const most = Math.max(0, ...offered.map(({ nodes }) => nodes.length - 1));
    for (let step = 0; step <= most; step++) {
      const free = strategy === 'pack' ? step : most - step;
      for (const { shape, nodes } of offered) {
        const bucket = nodes[free];
        if (bucket === undefined || free < gpusNeeded(size, shape)!) continue;
        for (const record of bucket.having(least.cpu, least.memory)) {
          const stock = this.#withGpus ? record.stocks.find((one) => one.shape.key === shape.key)! : record.whole;
          if (fits(record, stock, { size, isLinked: this.#attempt.isLinked })) yield { record, stock };
        }
      }
    }
  }
}

function measureFor(size: Size, { isLinked }: Attempt): Measure {
  if (size.kind === 'node') return 'empty';
  return isLinked ? 'linked' : 'free';
}

function leastOf(size: Size, what: 'cpu' | 'memory'): number {
  const amount = size.kind === 'devices' ? size[what] : 'share';
  return amount === 'share' ? Number.NEGATIVE_INFINITY : amount;
}

function wished(group: Group, size: Size): Buckets[] {
  return wantsGpus(size) ? group.buckets.filter(({ shape }) => isShapeFor(shape, size)) : group.buckets;
}

/** In the order of the shapes: the smallest cards first. */
function kindsIn(offered: readonly (readonly Buckets[])[]): Set<string> {
  if (offered.length === 1) return new Set(offered[0]!.map(({ shape }) => shape.kind));
  const shapes = offered.flatMap((buckets) => buckets.map(({ shape }) => shape));
  return new Set(shapes.sort((one, other) => one.memory - other.memory || order(one.kind, other.kind)).map(({ kind }) => kind));
}
