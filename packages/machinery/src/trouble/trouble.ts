import { humanDuration } from '../time/duration.ts';

/** What is known of a trouble when a line about it is written. */
export interface TroubleFacts {
  /** How often it was reported since the line before. */
  readonly reports: number;
  /** How many are in trouble now. */
  readonly sources: number;
  /** Since it began, such as `5m3s`. */
  readonly duration: string;
  /** Since the line before. */
  readonly sinceLine: string;
}

export interface TroubleOptions {
  readonly log: (line: string) => void;
  readonly begins: (why: string) => string;
  /** The reminder; undefined for none this time. */
  readonly lasts: (why: string, facts: TroubleFacts) => string | undefined;
  /** Undefined when its end is not worth a line. */
  readonly ends: (facts: TroubleFacts) => string | undefined;
  /** In milliseconds: the first reminder comes after this, each further one after twice the time, up to ten times the first. */
  readonly remindAfter?: number | undefined;
  /** In milliseconds: a trouble that nobody says they are in is over when it was not reported for so long. */
  readonly quietAfter?: number | undefined;
  /** In milliseconds from some moment on. */
  readonly now: () => number;
}

interface Course {
  readonly since: number;
  why: string;
  lastReport: number;
  lastLine: number;
  /** In milliseconds: until the next reminder. */
  wait: number;
  reports: number;
}

/** Logs one kind of trouble: when it begins, from time to time while it lasts, and when it is over, however many report it and how often. It needs no timer. */
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

  /** Whether it lasts. */
  get lasts(): boolean {
    return this.#course !== undefined;
  }

  /** Something failed. Those that name themselves as its source are in trouble until they `clear` it. */
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

  /** A source works again. The trouble is over with the last of them. */
  clear(source?: string): void {
    if (source !== undefined) this.#sources.delete(source);
    if (this.#course !== undefined && this.#sources.size === 0) this.#end(this.#course, this.#now());
  }

  /** Ends a trouble without sources that nobody has reported for long. Called now and then by those who want a line about it soon. */
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
