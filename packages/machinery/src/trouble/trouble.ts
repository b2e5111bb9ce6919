import { humanDuration } from '../time/duration.ts';

/** The facts about a problem when a line about it is logged. */
export interface TroubleFacts {
  /** The number of reports since the last line. */
  readonly reports: number;
  /** The number of sources that have the problem now. */
  readonly sources: number;
  /** The time since it began, such as `5m3s`. */
  readonly duration: string;
  /** The time since the last line. */
  readonly sinceLine: string;
}

export interface TroubleOptions {
  readonly log: (line: string) => void;
  readonly begins: (why: string) => string;
  /** The reminder; undefined to log nothing this time. */
  readonly lasts: (why: string, facts: TroubleFacts) => string | undefined;
  /** Undefined if its end is not worth a line. */
  readonly ends: (facts: TroubleFacts) => string | undefined;
  /** Milliseconds until the first reminder. Each further one takes twice as long, up to ten times the first. */
  readonly remindAfter?: number | undefined;
  /** Milliseconds without a report after which a problem without sources is over. */
  readonly quietAfter?: number | undefined;
  /** Milliseconds since an arbitrary time. */
  readonly now: () => number;
}

interface Course {
  readonly since: number;
  why: string;
  lastReport: number;
  lastLine: number;
  /** Milliseconds until the next reminder. */
  wait: number;
  reports: number;
}

/**
 * Logs one kind of problem: when it begins, at intervals while it lasts, and when it ends, however often and by however many sources it is
 * reported. Needs no timer.
 */
export class Trouble {
  readonly #options: TroubleOptions;
  readonly #remindAfter: number;
  readonly #quietAfter: number;
  readonly #now: () => number;
  readonly #sources = new Set<string>();
  #course: Course | undefined;

  constructor(options: TroubleOptions) {
    const { remindAfter = 60_000, quietAfter = 60_000, now } = options;
    this.#options = options;
    this.#remindAfter = remindAfter;
    this.#quietAfter = quietAfter;
    this.#now = now;
  }

  /** Whether the problem is ongoing. */
  get lasts(): boolean {
    return this.#course !== undefined;
  }

  /** Reports a failure. A named source has the problem until it calls `clear`. */
  report(why: string, source?: string): void {
    this.settle();
    const now = this.#now();
    if (source !== undefined) this.#sources.add(source);
    const course = this.#course;
    if (course === undefined) {
      this.#course = { since: now, why, lastReport: now, lastLine: now, wait: this.#remindAfter, reports: 0 };
      this.#options.log(this.#options.begins(why));
      return;
    }
    Object.assign(course, { why, lastReport: now, reports: course.reports + 1 });
    if (now - course.lastLine < course.wait) return;
    this.#say(this.#options.lasts(why, this.#facts(course, now)));
    Object.assign(course, { lastLine: now, wait: Math.min(2 * course.wait, 10 * this.#remindAfter), reports: 0 });
  }

  /** A source works again. The problem ends with its last source. */
  clear(source?: string): void {
    if (source !== undefined) this.#sources.delete(source);
    if (this.#course !== undefined && this.#sources.size === 0) this.#end(this.#course, this.#now());
  }

  /** Ends a problem without sources that has not been reported for a while. Call it occasionally to have the end logged promptly. */
  settle(): void {
    const course = this.#course;
    if (course === undefined || this.#sources.size > 0 || this.#now() - course.lastReport < this.#quietAfter) return;
    this.#end(course, course.lastReport);
  }

  #end(course: Course, at: number): void {
    this.#course = undefined;
    this.#say(this.#options.ends(this.#facts(course, at)));
  }

  #facts({ since, lastLine, reports }: Course, now: number): TroubleFacts {
    return { reports, sources: this.#sources.size, duration: humanDuration(now - since), sinceLine: humanDuration(now - lastLine) };
  }

  #say(line: string | undefined): void {
    if (line !== undefined) this.#options.log(line);
  }
}
