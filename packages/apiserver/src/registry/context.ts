import type { ClusterId, User } from '@capstan/api';
import type { ObjectReader, StrategyContext } from '@capstan/kinds';
import type { EntryReader } from '../cache/reader.ts';
import { longestWarning, mostInWarnings } from '../http/warnings.ts';
import { Pace, type Turns } from './pace.ts';
import type { RequestInfo } from './scope.ts';

/** A request in the registry: its user, its target, and the means to check both. */
export class RequestContext implements StrategyContext {
  readonly info: RequestInfo;
  readonly user: User;
  readonly objects: ObjectReader & EntryReader;
  readonly now: () => Date;
  readonly userAgent: string;
  /** Makes a review ignore whether the user has access to the workspace. Only superusers can ask for this. */
  readonly deepReview: boolean;
  /** Throws if the user lacks permission for this verb on the request's target. Undefined for requests that need no other permission than the one that was checked; it says nothing about others. */
  readonly permit: ((verb: string) => void | Promise<void>) | undefined;
  /** Gives the request turns to work in; undefined for requests of the server itself. */
  readonly turns: Turns | undefined;
  readonly warnings: string[] = [];
  #warned = 0;
  #annotations: Record<string, string> | undefined;

  constructor(options: {
    info: RequestInfo;
    user: User;
    objects: ObjectReader & EntryReader;
    now: () => Date;
    userAgent: string;
    deepReview?: boolean;
    permit?: ((verb: string) => void | Promise<void>) | undefined;
    turns?: Turns | undefined;
  }) {
    this.info = options.info;
    this.user = options.user;
    this.objects = options.objects;
    this.now = options.now;
    this.userAgent = options.userAgent;
    this.deepReview = options.deepReview ?? false;
    this.permit = options.permit;
    this.turns = options.turns;
  }

  get cluster(): ClusterId {
    return this.info.cluster;
  }

  /** The pace of an operation that begins now. */
  pace(): Pace {
    return new Pace(this.turns);
  }

  /** Warnings beyond what fits into the response are dropped: the author of an object controls how many there are. */
  readonly warn = (message: string): void => {
    if (this.#warned >= mostInWarnings || this.warnings.includes(message)) return;
    this.warnings.push(message);
    this.#warned += Math.min(message.length, longestWarning);
  };

  /** Adds an annotation to the audit record of the request. The first value of a key wins. */
  annotate(key: string, value: string): void {
    this.#annotations ??= {};
    if (!Object.hasOwn(this.#annotations, key)) this.#annotations[key] = value;
  }

  get annotations(): Readonly<Record<string, string>> | undefined {
    return this.#annotations;
  }

  /** The field manager if the client names none: the program's name without its version. */
  get defaultManager(): string {
    const slash = this.userAgent.indexOf('/');
    const name = slash < 0 ? this.userAgent : this.userAgent.slice(0, slash);
    return [...name]
      .filter((character) => /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character))
      .join('')
      .slice(0, 128);
  }
}
