import { auditAlikeAnnotation, auditRepeatedAnnotation, auditWorkspaceAnnotation } from '@capstan/api';
import { formatMicroTime } from '@capstan/machinery';
import { sourceOf } from '../http/source.ts';
import { cut } from './cut.ts';
import type { AuditedRequest } from './event.ts';

/** How many log lines denied requests may take. */
export interface DenialLimits {
  /** In milliseconds. At the end of a window, one summary line is written for each group of counted requests. */
  readonly window: number;
  /** Lines per window for the same source, user, verb and kind of path. */
  readonly alike: number;
  /** Lines per window for the same source and user, whatever they request. */
  readonly perSource: number;
  /** Lines for all sources together, and how many of them may be written in a burst. */
  readonly perSecond: number;
  readonly burst: number;
}

const defaultLimits: DenialLimits = { window: 60_000, alike: 5, perSource: 20, perSecond: 5, burst: 200 };

/** How many groups are tracked in a window. Further requests are counted together. */
const mostSources = 500;
const mostShapes = 8;
const mostSummaries = 100;
const longestKey = 128;

/** Requests of a group have these in common, and their workspace. */
const allAlike = 'source, user, verb, path';

/** Requests that were counted instead of recorded, with the event of the first one. */
class Counted {
  readonly alike: string;
  lines = 0;
  count = 0;
  sample = '';
  last = new Date(0);

  constructor(alike: string) {
    this.alike = alike;
  }

  add(request: AuditedRequest, line: () => string): void {
    if (this.count++ === 0) this.sample = line();
    this.last = request.at;
  }

  take(other: Counted): void {
    if (this.count === 0) this.sample = other.sample;
    this.count += other.count;
    if (other.last > this.last) this.last = other.last;
  }

  /** The event of the first request, annotated with their number and stamped with the time of the last. */
  summary(): string {
    const event = JSON.parse(this.sample) as { annotations?: Record<string, string> };
    const { [auditWorkspaceAnnotation]: workspace, ...others } = event.annotations ?? {};
    const annotations = {
      // The owners of one workspace must not learn about requests to others.
      ...(workspace !== undefined && this.alike === allAlike && { [auditWorkspaceAnnotation]: workspace }),
      ...others,
      [auditRepeatedAnnotation]: String(this.count),
      [auditAlikeAnnotation]: this.alike,
    };
    return `${JSON.stringify({ ...event, stageTimestamp: formatMicroTime(this.last), annotations })}\n`;
  }
}

interface Source {
  lines: number;
  readonly byShape: Map<string, Counted>;
  /** Requests beyond the tracked shapes. */
  readonly varied: Counted;
}

/**
 * Keeps denied requests from flooding the log, which would rotate evidence away. The first denials of a window are recorded individually;
 * the rest are counted, and the counts are written at the end of the window, so only the details of repeated requests are lost. Allowed
 * requests never get here.
 */
export class Denials implements Disposable {
  readonly #limits: DenialLimits;
  readonly #write: (line: string) => void;
  readonly #now: () => number;
  readonly #sources = new Map<string, Source>();
  #others = new Counted('none');
  #timer: NodeJS.Timeout | undefined;
  #tokens: number;
  #filledAt: number;
  #counted = 0;

  constructor(write: (line: string) => void, limits: Partial<DenialLimits> = {}, now: () => number = () => performance.now()) {
    this.#limits = { ...defaultLimits, ...limits };
    this.#write = write;
    this.#now = now;
    this.#tokens = this.#limits.burst;
    this.#filledAt = now();
  }

  /** How many requests were counted instead of recorded. */
  get counted(): number {
    return this.#counted;
  }

  /** Whether the denial gets a line of its own; otherwise it is counted. `line` formats the event, and is called only when needed. */
  isRecorded(request: AuditedRequest, line: () => string): boolean {
    this.#timer ??= setTimeout(() => this.flush(), this.#limits.window).unref();
    const source = this.#sourceOf(request);
    const counter = source === undefined ? this.#others : counterOf(source, request);
    const { alike, perSource } = this.#limits;
    const isWithin = source === undefined || (source.lines < perSource && (counter === source.varied || counter.lines < alike));
    if (isWithin && this.#takeToken()) {
      counter.lines++;
      if (source !== undefined) source.lines++;
      return true;
    }
    counter.add(request, line);
    this.#counted++;
    return false;
  }

  /** Writes the summaries and starts a new window. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const others = this.#others;
    let left = mostSummaries;
    for (const { byShape, varied } of this.#sources.values()) {
      for (const counter of [...byShape.values(), varied]) {
        if (counter.count === 0) continue;
        if (left-- > 0) this.#write(counter.summary());
        else others.take(counter);
      }
    }
    if (others.count > 0) this.#write(others.summary());
    this.#sources.clear();
    this.#others = new Counted('none');
  }

  [Symbol.dispose](): void {
    this.flush();
  }

  /** Undefined when too many sources are already tracked. */
  #sourceOf({ attributes, impersonator, sourceIps }: AuditedRequest): Source | undefined {
    const key = `${sourceOf(sourceIps[0] ?? '')} ${cut((impersonator ?? attributes.user).name, longestKey)}`;
    let source = this.#sources.get(key);
    if (source === undefined && this.#sources.size < mostSources) {
      source = { lines: 0, byShape: new Map(), varied: new Counted('source, user') };
      this.#sources.set(key, source);
    }
    return source;
  }

  #takeToken(): boolean {
    const { perSecond, burst } = this.#limits;
    const now = this.#now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1000) * perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}

/**
 * Whether a request was denied before anything was done for it. A request rejected by an admission plugin was authorized, so it does not
 * count.
 */
export function isDenied({ response, decision }: AuditedRequest): boolean {
  if (response === undefined) return false;
  if (decision !== undefined) return !decision.allowed || response.code === 429;
  return response.code === 401 || response.code === 403 || response.code === 429;
}

function counterOf({ byShape, varied }: Source, request: AuditedRequest): Counted {
  const shape = shapeOf(request);
  let counter = byShape.get(shape);
  if (counter === undefined && byShape.size < mostShapes) {
    counter = new Counted(allAlike);
    byShape.set(shape, counter);
  }
  return counter ?? varied;
}

/** The kind of request, without names that a client can choose freely. */
function shapeOf({ attributes: { cluster, isResource, verb, group, resource, subresource, path }, response }: AuditedRequest): string {
  const what = isResource ? `${group}/${resource}/${subresource}` : `/${path.split('/', 2)[1] ?? ''}`;
  return `${cut(cluster, longestKey)} ${cut(`${response?.code} ${verb} ${what}`, longestKey)}`;
}
