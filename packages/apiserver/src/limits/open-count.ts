import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { status } from '@capstan/machinery';
import type { Level, Line } from './line.ts';
import { allowedInLine } from './scarce.ts';

export interface OpenCountOptions {
  /** The plural of the counted things, for messages: `watches`. */
  readonly what: string;
  /** Those of people. */
  readonly overall: number;
  /** Those of one workspace; in the root workspace, of one user. */
  readonly perLine: number;
  /** Those of one user of a workspace: by default half of `perLine`. */
  readonly perUser?: number;
  /** Those of kubelets and node agents, counted apart: by default as for people, each agent like a workspace. */
  readonly agents?: { readonly overall?: number; readonly perLine?: number };
}

/** Limits long-lived things such as watches and connections, per line and in total. Only the total applies to system:masters. */
export class OpenCount {
  readonly #what: string;
  readonly #limits: Readonly<Record<Level, { readonly overall: number; readonly perLine: number }>>;
  readonly #perUser: number;
  /** By tenant and by user: see `Line`. */
  readonly #counts = new Map<string, number>();
  readonly #totals: Record<Level, number> = { people: 0, agents: 0 };

  constructor({ what, overall, perLine, perUser = Math.ceil(perLine / 2), agents }: OpenCountOptions) {
    this.#what = what;
    this.#limits = { people: { overall, perLine }, agents: { overall, perLine, ...agents } };
    this.#perUser = perUser;
  }

  get total(): number {
    return this.#totals.people + this.#totals.agents;
  }

  /** Counts one more in the line, or throws TooManyRequests. Every successful `open` needs a `close`. */
  open(line: Line, user: User): void {
    const { level, tenant, user: name } = line;
    const { overall, perLine } = this.#limits[level];
    const total = this.#totals[level];
    if (total >= overall) {
      const whose = level === 'agents' ? ' of nodes' : '';
      throw status.tooManyRequests(`the server has ${overall} ${this.#what}${whose} open, which is its limit; try again later`, 1);
    }
    const count = this.#counts.get(tenant) ?? 0;
    const isSingle = name === tenant;
    const own = isSingle ? count : (this.#counts.get(name) ?? 0);
    if (!user.groups.includes(superuserGroup)) {
      const allowed = allowedInLine({ taken: total, all: overall, most: perLine });
      if (count >= allowed) throw this.#tooMany(count, allowed, 'user or workspace');
      if (!isSingle && own >= this.#perUser) throw this.#tooMany(own, this.#perUser, 'user of a workspace');
    }
    this.#counts.set(tenant, count + 1);
    if (!isSingle) this.#counts.set(name, own + 1);
    this.#totals[level]++;
  }

  close({ level, tenant, user }: Line): void {
    if (!this.#counts.has(tenant)) return;
    this.#lower(tenant);
    if (user !== tenant) this.#lower(user);
    this.#totals[level]--;
  }

  #lower(name: string): void {
    const count = this.#counts.get(name);
    if (count === undefined) return;
    if (count === 1) this.#counts.delete(name);
    else this.#counts.set(name, count - 1);
  }

  #tooMany(count: number, allowed: number, whom: string): Error {
    return status.tooManyRequests(
      `you have ${count} ${this.#what} open, and ${allowed} is the limit for one ${whom}; close some of them`,
      1,
    );
  }
}
