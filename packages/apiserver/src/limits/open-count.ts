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
  /** Those of one organization: by default half of `overall`. */
  readonly perTenant?: number;
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
  readonly #perTenant: number | undefined;
  readonly #perUser: number;
  /** By tenant, by workspace, and by user of a workspace: see `Line`. */
  readonly #counts = new Map<string, number>();
  readonly #totals: Record<Level, number> = { people: 0, agents: 0 };

  constructor({ what, overall, perTenant, perLine, perUser = Math.ceil(perLine / 2), agents }: OpenCountOptions) {
    this.#what = what;
    this.#limits = { people: { overall, perLine }, agents: { overall, perLine, ...agents } };
    this.#perTenant = perTenant;
    this.#perUser = perUser;
  }

  get total(): number {
    return this.#totals.people + this.#totals.agents;
  }

  /** Counts one more in the line, or throws TooManyRequests. Every successful `open` needs a `close`. */
  open(line: Line, user: User): void {
    const { level, tenant } = line;
    const { overall } = this.#limits[level];
    const total = this.#totals[level];
    if (total >= overall) {
      const whose = level === 'agents' ? ' of nodes' : '';
      throw status.tooManyRequests(`the server has ${overall} ${this.#what}${whose} open, which is its limit; try again later`, 1);
    }
    if (!user.groups.includes(superuserGroup)) this.#check(line, total);
    this.#raise(tenant);
    if (line.workspace !== tenant) {
      this.#raise(line.workspace);
      this.#raise(ownOf(line));
    }
    this.#totals[level]++;
  }

  #check(line: Line, total: number): void {
    const { level, tenant, workspace } = line;
    const { overall, perLine } = this.#limits[level];
    const isSingle = workspace === tenant;
    const perTenant = isSingle ? perLine : (this.#perTenant ?? Math.max(perLine, Math.ceil(overall / 2)));
    const allowed = allowedInLine({ taken: total, all: overall, most: perTenant });
    const count = this.#counts.get(tenant) ?? 0;
    if (count >= allowed) throw this.#tooMany(count, allowed, isSingle ? 'user or workspace' : 'organization');
    if (isSingle) return;
    const inside = this.#counts.get(workspace) ?? 0;
    if (inside >= perLine) throw this.#tooMany(inside, perLine, 'user or workspace');
    const own = this.#counts.get(ownOf(line)) ?? 0;
    if (own >= this.#perUser) throw this.#tooMany(own, this.#perUser, 'user of a workspace');
  }

  close(line: Line): void {
    const { level, tenant, workspace } = line;
    if (!this.#counts.has(tenant)) return;
    this.#lower(tenant);
    if (workspace !== tenant) {
      this.#lower(workspace);
      this.#lower(ownOf(line));
    }
    this.#totals[level]--;
  }

  #raise(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
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

/** Names of workspaces have no slash, so nothing else has this name. */
const ownOf = ({ workspace, user }: Line): string => `${workspace}${user}`;
