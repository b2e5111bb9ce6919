import { formatMicroTime } from '@capstan/machinery';
import { sourceOf } from '../http/source.ts';
import { cut } from './cut.ts';
import type { AuditedRequest } from './event.ts';

/** How many lines requests that were refused may have. */
export interface DenialLimits {
  /** In milliseconds: when it is over, what was only counted is recorded in one line for each group. */
  readonly window: number;
  /** Lines in a window for the same source, user, verb and kind of path. */
  readonly alike: number;
  /** Lines in a window for the same source and user, whatever they ask for. */
  readonly perSource: number;
  /** Lines of everybody together, and how many of them may come at once. */
  readonly perSecond: number;
  readonly burst: number;
}

const defaultLimits: DenialLimits = { window: 60_000, alike: 5, perSource: 20, perSecond: 5, burst: 200 };

/** What is remembered in a window. The rest of it is counted together. */
const mostSources = 500;
const mostShapes = 8;
const mostSummaries = 100;
const longestKey = 128;

/** Requests that were only counted, and the record of the first of them. */
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

  /** The event of the first, which says how many there were until the last. */
  summary(): string {
    const event = JSON.parse(this.sample) as { annotations?: Record<string, string> };
    const annotations = { ...event.annotations, 'capstan.dev/repeated': String(this.count), 'capstan.dev/repeated-alike': this.alike };
    return `${JSON.stringify({ ...event, stageTimestamp: formatMicroTime(this.last), annotations })}\n`;
  }
}

interface Source {
  lines: number;
  readonly byShape: Map<string, Counted>;
  /** What they asked for beside. */
  readonly varied: Counted;
}

/**
 * Keeps those who are refused from filling the log, as that would rotate evidence away. The first refusals of a window are recorded one by one; the rest are
 * counted, and the counts are recorded when the window is over: nothing is lost but the detail of what was repeated. Requests that were allowed never come here.
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

  /** How many were counted instead of being recorded one by one. */
  get counted(): number {
    return this.#counted;
  }

  /** Whether a refusal may have a line of its own; otherwise it was counted. `line` makes the record, and is called only when needed. */
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

  /** Records what was counted, and begins again. */
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

  /** Undefined when there are too many to remember. */
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

/** Whether a request was refused before anything was done for it. One that an admission plugin refused was allowed. */
export function isDenied({ response, decision }: AuditedRequest): boolean {
  if (response === undefined) return false;
  if (decision !== undefined) return !decision.allowed || response.code === 429;
  return response.code === 401 || response.code === 403 || response.code === 429;
}

function counterOf({ byShape, varied }: Source, request: AuditedRequest): Counted {
  const shape = shapeOf(request);
  let counter = byShape.get(shape);
  if (counter === undefined && byShape.size < mostShapes) {
    counter = new Counted('source, user, verb, path');
    byShape.set(shape, counter);
  }
  return counter ?? varied;
}

/** What a request asks for, without names that a client may choose at will. */
function shapeOf({ attributes: { isResource, verb, group, resource, subresource, path }, response }: AuditedRequest): string {
  const what = isResource ? `${group}/${resource}/${subresource}` : `/${path.split('/', 2)[1] ?? ''}`;
  return cut(`${response?.code} ${verb} ${what}`, longestKey);
}
