import { counted, cpus, gibibytes, listed } from '../words/amounts.ts';
import { type Constraint, constraints, type Judgement } from './judgement.ts';
import { labelOf } from './node.ts';
import { type PlacementRequest, wantsGpus } from './request.ts';
import { setAsideWords } from './set-aside.ts';
import { wishWords } from './words.ts';

/** How many nodes a sentence names. */
const mostNamed = 3;

/** One sentence that says why there is no answer: about the nodes that came closest to one. */
export function sentenceOf(request: PlacementRequest, judgements: readonly Judgement[]): string {
  if (judgements.length === 0) return 'the fleet has no nodes';
  if (request.nodes < 1) return `needs ${request.nodes} nodes; at least 1 was expected`;
  const sufficient = judgements.filter(({ constraint }) => constraint === undefined);
  if (sufficient.length > 0) return tooFewNodes(request, sufficient);
  const deepest = constraints.findLast((one) => judgements.some(({ constraint }) => constraint === one))!;
  const stopped = judgements.filter(({ constraint }) => constraint === deepest);
  const sentence = sentences[deepest](request, { stopped, all: judgements });
  const aside = busy.has(deepest)
    ? setAsideWords(
        judgements,
        stopped.some(({ stock }) => stock.free.length > 0),
      )
    : undefined;
  return aside === undefined ? sentence : `${sentence}; ${aside}`;
}

/** Constraints that end when somebody else has released something. */
const busy: ReadonlySet<Constraint> = new Set(['whole', 'gpus', 'nvlink', 'cpu', 'memory']);

interface Facts {
  /** The nodes that came furthest. */
  readonly stopped: readonly Judgement[];
  readonly all: readonly Judgement[];
}

const sentences: Readonly<Record<Constraint, (request: PlacementRequest, facts: Facts) => string>> = {
  node: ({ named: target }) => `there is no node ${target!.node}`,
  pool: ({ pools }, { all }) =>
    `no node is in pool ${pools!.join(' or ')}; the pools are ${listed(distinct(all.map((one) => one.record.node.pool)))}`,
  labels: ({ matchLabels }) =>
    `no node has the labels ${Object.entries(matchLabels!)
      .map(([label, value]) => `${label}=${value}`)
      .join(', ')}`,
  model: ({ size }, { stopped, all }) => {
    const models = distinct(stopped.flatMap(({ record }) => record.node.gpus.map(({ model }) => model)));
    const who =
      stopped.length === all.length
        ? 'the fleet has'
        : `the ${counted(stopped.length, 'node')} in question ${stopped.length === 1 ? 'has' : 'have'}`;
    return `no node has ${size.gpu.model ?? 'GPUs'}; ${who} ${models.length === 0 ? 'no GPUs' : listed(models)}`;
  },
  gpuMemory: ({ size }, { stopped }) =>
    `no ${size.gpu.model ?? 'GPU'} has ${gibibytes(size.gpu.memory!)} of memory; the largest has ${gibibytes(most(stopped, ({ stock }) => stock.shape.memory))}`,
  migProfile: ({ size }, { stopped }) => {
    const profiles = distinct(stopped.map(({ stock }) => stock.shape.migProfile ?? 'whole GPUs'));
    return `no ${size.gpu.model ?? 'GPU'} ${size.gpu.migProfile === undefined ? 'is whole' : `is divided into ${size.gpu.migProfile}`}; there are ${listed(profiles)}`;
  },
  capacity: (request, { stopped }) => {
    const gpus = most(stopped, ({ stock }) => stock.gpus.length);
    const largest =
      request.size.kind === 'fraction'
        ? `nodes have ${listed(distinct(stopped.map(({ stock }) => `${stock.gpus.length}`)))} GPUs`
        : undefined;
    const cpu = cpus(most(stopped, ({ record }) => record.node.cpu));
    const memory = gibibytes(most(stopped, ({ record }) => record.node.memory));
    const such = wantsGpus(request.size) ? `${counted(gpus, 'such GPU')}, ` : '';
    return `needs ${wishWords(request)}; ${largest ?? `the largest nodes have ${such}${cpu} and ${memory}`}`;
  },
  silent: closed,
  notReady: closed,
  cordoned: closed,
  health: (request, { stopped }) =>
    `needs ${wishWords(request)}; too many GPUs are unhealthy on ${named(stopped.map(({ record }) => record.node.name))}`,
  whole: (request, { stopped }) =>
    `needs ${wishWords(request)}; ${stopped.length === 1 ? `${stopped[0]!.record.node.name} is` : `all ${stopped.length} nodes are`} in use`,
  gpus: (request, { stopped }) => {
    const free = closest(stopped, ({ stock }) => stock.free.length);
    return `needs ${wishWords(request)}; ${free === '' ? `none is free on ${counted(stopped.length, 'node')}` : `free: ${free}`}`;
  },
  nvlink: (request, { stopped }) => `needs ${wishWords(request)}; free and connected: ${closest(stopped, ({ stock }) => stock.linked)}`,
  cpu: (request, { stopped }) => left(request, stopped, ({ record }) => cpus(record.freeCpu)),
  memory: (request, { stopped }) => left(request, stopped, ({ record }) => `${gibibytes(record.freeMemory)} of memory`),
};

/** All nodes that match are closed to new allocations. */
function closed(_request: PlacementRequest, { all }: Facts): string {
  const words = [
    { constraint: 'cordoned', is: 'cordoned' },
    { constraint: 'notReady', is: 'not ready' },
    { constraint: 'silent', is: 'silent' },
  ];
  const groups = words
    .map(({ constraint, is }) => ({ is, count: all.filter((one) => one.constraint === constraint).length }))
    .filter(({ count }) => count > 0);
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  if (total === 1) return `1 node matches, but is ${groups[0]!.is}`;
  if (groups.length === 1) return `${total} nodes match, all are ${groups[0]!.is}`;
  return `${total} nodes match: ${listed(groups.map(({ is, count }) => `${count} ${count === 1 ? 'is' : 'are'} ${is}`))}`;
}

function tooFewNodes(request: PlacementRequest, sufficient: readonly Judgement[]): string {
  const needs = `needs ${wishWords(request)}`;
  const names = sufficient.map(({ record }) => record.node.name);
  if (names.length < request.nodes)
    return `${needs}; ${names.length === 1 ? '1 node has' : `${names.length} nodes have`} that free: ${named(names)}`;
  const { topology } = request;
  const kinds = byCount(sufficient, ({ stock }) => `with ${stock.shape.model}`);
  if (topology?.strength !== 'required') return `${needs}, all with the same kind of GPU; free: ${named(kinds)}`;
  const places = byCount(
    sufficient.filter(({ record }) => labelOf(record.node, topology.label) !== undefined),
    ({ record }) => `in ${labelOf(record.node, topology.label)}`,
  );
  return `${needs}; ${places.length === 0 ? `none of ${names.length} nodes has this label` : `free: ${named(places)}`}`;
}

/** `2 in r1`, `1 in r2`: most first. */
function byCount(judgements: readonly Judgement[], key: (one: Judgement) => string): string[] {
  const groups = [...Map.groupBy(judgements, key)].map(([name, members]) => ({ name, count: members.length }));
  groups.sort((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1));
  return groups.map(({ name, count }) => `${count} ${name}`);
}

function left(request: PlacementRequest, stopped: readonly Judgement[], what: (one: Judgement) => string): string {
  return `needs ${wishWords(request)}; nodes with enough GPUs have only ${named(stopped.map((one) => `${what(one)} on ${one.record.node.name}`))}`;
}

/** `2 on n3, 1 on n7`, without the nodes that have none. */
function closest(stopped: readonly Judgement[], amount: (one: Judgement) => number): string {
  const having = stopped.filter((one) => amount(one) > 0).sort((one, other) => amount(other) - amount(one));
  return named(having.map((one) => `${amount(one)} on ${one.record.node.name}`));
}

function named(words: readonly string[]): string {
  const more = words.length - mostNamed;
  return more > 0 ? `${words.slice(0, mostNamed).join(', ')} and ${more} more` : words.join(', ');
}

function most(judgements: readonly Judgement[], amount: (one: Judgement) => number): number {
  return judgements.reduce((largest, one) => Math.max(largest, amount(one)), 0);
}

function distinct(words: readonly string[]): string[] {
  return [...new Set(words)].sort();
}
