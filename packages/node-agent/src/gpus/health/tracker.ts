import type { Gpu, GpuHealth, GpuReading, GpuReport, GpuSource, GpuStatus, UnreachableGpu } from '@capstan/api';
import type { XidEvent } from '../xid/kernel-log.ts';
import { bySeverity, cardEvidence, type Evidence, isInForce, readingEvidence, type XidRules, xidEvidence } from './evidence.ts';
import { defaultPaces, type Paces, type Position, type Signal, stateOf, step } from './machine.ts';

/** Something that tells about the health of cards. */
export type HealthEvent =
  | { readonly type: 'report'; readonly report: GpuReport }
  | { readonly type: 'sample'; readonly at: number; readonly readings: readonly GpuReading[] }
  /** The tools of a source gave no answer, or named only the cards that they cannot reach. */
  | {
      readonly type: 'silence';
      readonly at: number;
      readonly source: GpuSource;
      readonly unreachable: readonly UnreachableGpu[];
      readonly why: string;
    }
  | { readonly type: 'xids'; readonly at: number; readonly xids: readonly XidEvent[] }
  /** The cards that the owner says the machine has. */
  | { readonly type: 'expected'; readonly at: number; readonly gpus: readonly ExpectedGpu[] }
  /** An owner declares a card well, or takes one that is gone out of the list. */
  | { readonly type: 'cleared'; readonly at: number; readonly uuid: string }
  | { readonly type: 'removed'; readonly at: number; readonly uuid: string }
  /** The machine has started; known by an id that changes with every start. */
  | { readonly type: 'boot'; readonly at: number; readonly bootId: string };

export interface ExpectedGpu {
  readonly uuid: string;
  readonly pciBusId?: string;
}

export interface TrackerOptions {
  readonly paces?: Paces;
  /** How long a watched Xid marks a card, in milliseconds. */
  readonly watchFor?: number;
}

interface Card {
  readonly uuid: string;
  readonly source?: GpuSource;
  readonly pciBusId?: string;
  readonly gpu?: Gpu;
  readonly position: Position;
  /** The reason of the phase; kept while better news has to last. */
  readonly cause: { readonly reason: string; readonly detail: string };
  readonly presence: 'present' | 'missing' | 'silent';
  readonly fromReport: readonly Evidence[];
  readonly fromSample: readonly Evidence[];
  readonly xids: readonly XidEvent[];
  readonly resetAt: number;
  readonly clearedAt: number;
}

/** Plain data, so that it can be stored and survive a restart of the agent. */
export interface HealthBook {
  readonly bootId?: string;
  readonly cards: readonly Card[];
  /** Xids of cards that no report has shown yet: the kernel log is read before the tools answer, and only once. */
  readonly unclaimed: readonly XidEvent[];
}

/** A card never keeps more than this many Xids: a failing one can log thousands. */
const maxXids = 32;
const maxUnclaimed = 256;
export const emptyBook: HealthBook = { cards: [], unclaimed: [] };

/** The book after the event. A pure function: the time is in the event. */
export function track(book: HealthBook, event: HealthEvent, options: TrackerOptions = {}): HealthBook {
  switch (event.type) {
    case 'report':
      return trackReport(book, event.report, options);
    case 'sample': {
      const readings = new Map(event.readings.map((reading) => [reading.uuid, reading]));
      return changeCards(book, (card) => {
        const reading = readings.get(card.uuid);
        return reading === undefined ? card : advance({ ...card, fromSample: readingEvidence(reading) }, event.at, options);
      });
    }
    case 'silence':
      return trackSilence(book, event, options);
    case 'xids':
      return claim({ ...book, unclaimed: [...book.unclaimed, ...event.xids] }, event.at, options);
    case 'expected':
      return trackExpected(book, event, options);
    case 'cleared':
      return changeCards(book, (card) => (card.uuid === event.uuid ? advance({ ...card, clearedAt: event.at }, event.at, options) : card));
    case 'removed':
      return { ...book, cards: book.cards.filter(({ uuid }) => uuid !== event.uuid) };
    case 'boot':
      // The kernel log of the time before is gone with the errors that a restart heals.
      return event.bootId === book.bootId
        ? book
        : { bootId: event.bootId, unclaimed: [], cards: book.cards.map((card) => ({ ...card, xids: [], fromSample: [] })) };
  }
}

function changeCards(book: HealthBook, change: (card: Card) => Card): HealthBook {
  return { ...book, cards: book.cards.map(change) };
}

/** Cards that are known and not in a whole report are missing; those that are new are added. */
function trackReport(book: HealthBook, report: GpuReport, options: TrackerOptions): HealthBook {
  const { source, observedAt: at, unreachable } = report;
  const found = new Map(report.gpus.map((gpu) => [gpu.uuid, gpu]));
  const readings = new Map(report.readings.map((reading) => [reading.uuid, reading]));
  const lost = new Map(unreachable.map((one) => [one.pciBusId, one]));
  const buses = new Set(report.gpus.map(({ pciBusId }) => pciBusId));
  const kept = book.cards.filter(({ uuid, pciBusId }) => !isStranger(uuid) || !buses.has(pciBusId));
  const cards = kept.map((card): Card => {
    const gpu = found.get(card.uuid);
    if (gpu !== undefined) return advance(seen(card, { gpu, source, reading: readings.get(gpu.uuid) }), at, options);
    if (card.source !== undefined && card.source !== source) return card;
    const one = lost.get(card.pciBusId ?? '');
    return advance(one === undefined ? { ...card, presence: 'missing' } : unreached(card, one), at, options);
  });
  const known = new Set(book.cards.map(({ uuid }) => uuid));
  for (const gpu of report.gpus) {
    if (!known.has(gpu.uuid))
      cards.push(advance(seen(newCard({ uuid: gpu.uuid }, at), { gpu, source, reading: readings.get(gpu.uuid) }), at, options));
  }
  return claim({ ...book, cards: [...cards, ...strangers(cards, { source, unreachable, at }, options)] }, at, options);
}

/** Gives the Xids to their cards. */
function claim(book: HealthBook, at: number, options: TrackerOptions): HealthBook {
  if (book.unclaimed.length === 0) return book;
  const cards = book.cards.map((card) => trackXids(card, { at, xids: book.unclaimed }, options));
  return { ...book, cards, unclaimed: book.unclaimed.filter((xid) => !cards.some((card) => isAbout(xid, card))).slice(-maxUnclaimed) };
}

function isAbout({ pciBus }: XidEvent, { pciBusId }: Card): boolean {
  return pciBusId?.startsWith(`${pciBus}.`) === true;
}

function seen(card: Card, { gpu, source, reading }: { gpu: Gpu; source: GpuSource; reading: GpuReading | undefined }): Card {
  return {
    ...card,
    gpu,
    source,
    ...(gpu.pciBusId !== undefined && { pciBusId: gpu.pciBusId }),
    presence: 'present',
    fromReport: cardEvidence(gpu),
    fromSample: reading === undefined ? card.fromSample : readingEvidence(reading),
  };
}

function unreached(card: Card, { why }: UnreachableGpu): Card {
  return {
    ...card,
    presence: 'present',
    fromReport: [{ signal: 'failed', reason: 'Unreachable', detail: `the driver cannot reach it (${why})` }],
  };
}

const strangerPrefix = 'pci-';
const isStranger = (uuid: string): boolean => uuid.startsWith(strangerPrefix);

interface Sighting {
  readonly source: GpuSource;
  readonly unreachable: readonly UnreachableGpu[];
  readonly at: number;
}

/** Cards that have only ever been unreachable are known by their bus. They make way when a card with a uuid is seen there. */
function strangers(cards: readonly Card[], { source, unreachable, at }: Sighting, options: TrackerOptions): Card[] {
  const buses = new Set(cards.map(({ pciBusId }) => pciBusId));
  return unreachable
    .filter(({ pciBusId }) => !buses.has(pciBusId))
    .map((one) =>
      advance(
        unreached({ ...newCard({ uuid: `${strangerPrefix}${one.pciBusId}`, pciBusId: one.pciBusId }, at), source }, one),
        at,
        options,
      ),
    );
}

function trackSilence(book: HealthBook, event: Extract<HealthEvent, { type: 'silence' }>, options: TrackerOptions): HealthBook {
  const lost = new Map(event.unreachable.map((one) => [one.pciBusId, one]));
  const cards = book.cards.map((card) => {
    if (card.source !== undefined && card.source !== event.source) return card;
    const one = lost.get(card.pciBusId ?? '');
    const silent: Card = { ...card, presence: 'silent', fromSample: [] };
    return advance(one === undefined ? silent : unreached(card, one), event.at, { ...options, why: event.why });
  });
  return { ...book, cards: [...cards, ...strangers(cards, event, options)] };
}

function trackXids(card: Card, { at, xids }: { at: number; xids: readonly XidEvent[] }, options: TrackerOptions): Card {
  const known = new Set(card.xids.map(({ id }) => id));
  const own = xids.filter((xid) => isAbout(xid, card) && !known.has(xid.id));
  if (own.length === 0) return card;
  const healed = own.filter(({ recoveryAction }) => recoveryAction === 'none').map((xid) => xid.at);
  const resetAt = Math.max(card.resetAt, ...healed);
  const rules = rulesOf({ ...card, resetAt }, at, options);
  const inForce = [...card.xids, ...own].filter((xid) => isInForce(xid, rules));
  // The gravest must not be pushed out by many small ones.
  const grave = inForce.filter((xid) => xidEvidence([xid], rules)[0]?.signal === 'failed');
  const rest = inForce.filter((xid) => !grave.includes(xid));
  const kept = [...rest.slice(-maxXids), ...grave.slice(0, maxXids)].slice(-maxXids);
  return advance({ ...card, resetAt, xids: kept }, at, options);
}

/**
 * Expected cards that were never seen are missing once a report of the machine has been whole; until then nothing is known. Those that are not expected any more
 * are forgotten.
 */
function trackExpected(book: HealthBook, { at, gpus }: { at: number; gpus: readonly ExpectedGpu[] }, options: TrackerOptions): HealthBook {
  const wanted = new Set(gpus.map(({ uuid }) => uuid));
  const kept = book.cards.filter((card) => card.gpu !== undefined || card.source !== undefined || wanted.has(card.uuid));
  const known = new Set(kept.map(({ uuid }) => uuid));
  const hasReport = kept.some(({ presence, gpu }) => gpu !== undefined && presence === 'present');
  const added = gpus
    .filter(({ uuid }) => !known.has(uuid))
    .map((expected): Card => ({ ...newCard(expected, at), presence: hasReport ? 'missing' : 'silent' }));
  return { ...book, cards: [...kept, ...added.map((card) => advance(card, at, options))] };
}

function newCard({ uuid, pciBusId }: ExpectedGpu, at: number): Card {
  return {
    uuid,
    ...(pciBusId !== undefined && { pciBusId }),
    position: { phase: 'New', since: at },
    cause: { reason: 'NotObserved', detail: 'nothing has been heard of it since the agent started' },
    presence: 'silent',
    fromReport: [],
    fromSample: [],
    xids: [],
    resetAt: 0,
    clearedAt: 0,
  };
}

function rulesOf(card: Card, now: number, { watchFor = 3_600_000 }: TrackerOptions): XidRules {
  return { now, watchFor, resetAt: card.resetAt, clearedAt: card.clearedAt };
}

/** One step of the state machine with all evidence about the card. */
function advance(card: Card, at: number, options: TrackerOptions & { readonly why?: string }): Card {
  const rules = rulesOf(card, at, options);
  const xids = card.xids.filter((xid) => isInForce(xid, rules));
  const evidence = bySeverity([...presenceEvidence(card), ...xidEvidence(xids, rules), ...card.fromReport, ...card.fromSample]);
  const isSilent = card.presence === 'silent' && !evidence.some(({ signal }) => signal === 'failed');
  const signal: Signal = isSilent ? 'silent' : (evidence[0]?.signal ?? 'ok');
  const position = step(card.position, { signal, at }, options.paces ?? defaultPaces);
  return { ...card, xids, position, cause: causeOf({ ...card, position }, evidence, options.why) };
}

function presenceEvidence({ presence }: Card): Evidence[] {
  return presence === 'missing' ? [{ signal: 'missing', reason: 'Missing', detail: 'the driver does not show it any more' }] : [];
}

const phaseOfSignal = { degraded: 'Degraded', failed: 'Failed', missing: 'Missing' } as const;

function causeOf({ position, cause }: Card, evidence: readonly Evidence[], why: string | undefined): Card['cause'] {
  switch (position.phase) {
    case 'Healthy':
      return { reason: 'Healthy', detail: 'it works' };
    case 'Unknown':
      return why === undefined ? cause : { reason: 'ToolsSilent', detail: `its tools give no answer (${why})` };
    case 'New':
      return why === undefined ? cause : { reason: 'NotObserved', detail: `nothing has been heard of it since the agent started (${why})` };
    default: {
      const [worst, next] = evidence;
      // Better news that has yet to last does not change the reason.
      if (worst === undefined || phaseOfSignal[worst.signal] !== position.phase) return cause;
      return {
        reason: worst.reason,
        detail: worst.signal === 'missing' && next !== undefined ? `${worst.detail}; before that: ${next.detail}` : worst.detail,
      };
    }
  }
}

/** The cards with their health, in the order in which they were first seen. */
export function healthOf(book: HealthBook): GpuStatus[] {
  return book.cards.map((card) => ({
    uuid: card.uuid,
    ...(card.pciBusId !== undefined && { pciBusId: card.pciBusId }),
    health: printHealth(card),
    ...(card.gpu !== undefined && { gpu: card.gpu }),
  }));
}

function printHealth({ uuid, pciBusId, position, cause }: Card): GpuHealth {
  return {
    state: stateOf(position.phase),
    reason: cause.reason,
    message: `${uuid}${pciBusId === undefined ? '' : ` at ${pciBusId}`}: ${cause.detail}`,
    since: position.since,
  };
}
