import type { User } from '@capstan/api';
import type { ObjectReader, StrategyContext } from '@capstan/kinds';
import type { EntryReader } from '../cache/reader.ts';
import { longestWarning, mostInWarnings } from '../http/warnings.ts';
import type { RequestInfo } from './scope.ts';

/** A request on its way through the registry: who, what, and the means to answer questions about it. */
export class RequestContext implements StrategyContext {
  readonly info: RequestInfo;
  readonly user: User;
  readonly objects: ObjectReader & EntryReader;
  readonly now: () => Date;
  readonly userAgent: string;
  /** A review leaves out whether the user may enter the workspace. Only superusers can ask for it. */
  readonly deepReview: boolean;
  /** Throws when the user may not do this to what the request is about. Absent where nobody needs to be asked. */
  readonly permit: ((verb: string) => void | Promise<void>) | undefined;
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
  }) {
    this.info = options.info;
    this.user = options.user;
    this.objects = options.objects;
    this.now = options.now;
    this.userAgent = options.userAgent;
    this.deepReview = options.deepReview ?? false;
    this.permit = options.permit;
  }

  get cluster(): string {
    return this.info.cluster;
  }

  /** What does not fit into the answer is not kept: who writes an object decides how much there is to warn of. */
  readonly warn = (message: string): void => {
    if (this.#warned >= mostInWarnings || this.warnings.includes(message)) return;
    this.warnings.push(message);
    this.#warned += Math.min(message.length, longestWarning);
  };

  /** Adds to what the audit log says about the request. What was said first stays. */
  annotate(key: string, value: string): void {
    this.#annotations ??= {};
    if (!Object.hasOwn(this.#annotations, key)) this.#annotations[key] = value;
  }

  get annotations(): Readonly<Record<string, string>> | undefined {
    return this.#annotations;
  }

  /** Under which name changes are recorded when the client gives none: the program's name, without its version. */
  get defaultManager(): string {
    const slash = this.userAgent.indexOf('/');
    const name = slash < 0 ? this.userAgent : this.userAgent.slice(0, slash);
    return [...name]
      .filter((character) => /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character))
      .join('')
      .slice(0, 128);
  }
}
