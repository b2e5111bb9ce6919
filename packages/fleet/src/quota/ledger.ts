import type { FleetQuotaSpec } from '@capstan/api';
import { limitsIn, type QuotaAmount, type QuotaLimits, type QuotaRefusal, type QuotaUse, stricter } from './limits.ts';
import { addTo, askedOf, noTotals, quotaWords, type Totals, usesOf } from './measures.ts';
import { isHome, pathsUpFrom } from './paths.ts';

/**
 * Knows what every workspace uses, together with everything below it, and the limits. Allocations count from the moment in which they are
 * queued: otherwise those that wait could exceed a limit together.
 */
export class QuotaLedger {
  /** By path. */
  readonly #limits = new Map<string, QuotaLimits>();
  #homes: QuotaLimits | undefined;
  readonly #totals = new Map<string, Totals>();
  readonly #uses = new Map<string, { readonly workspace: string; readonly amount: QuotaAmount }>();

  constructor(quotas: Iterable<FleetQuotaSpec> = []) {
    for (const { workspace, homes, limits: stored } of quotas) {
      const limits = limitsIn(stored);
      if (homes) this.#homes = stricter(this.#homes ?? {}, limits);
      else if (workspace !== undefined) this.#limits.set(workspace, stricter(this.#limits.get(workspace) ?? {}, limits));
    }
  }

  /** Whether nothing is limited. */
  get isEmpty(): boolean {
    return this.#limits.size === 0 && this.#homes === undefined;
  }

  /** Counts an allocation, replacing what it counted before. */
  setUse(allocation: string, workspace: string, amount: QuotaAmount): void {
    this.clearUse(allocation);
    this.#uses.set(allocation, { workspace, amount });
    this.#count(workspace, amount, 1);
  }

  clearUse(allocation: string): void {
    const use = this.#uses.get(allocation);
    if (use === undefined) return;
    this.#uses.delete(allocation);
    this.#count(use.workspace, use.amount, -1);
  }

  /** The limits that an allocation in the workspace would exceed, the closest workspace first. What the allocation counts already is left out. */
  check(workspace: string, asked: QuotaAmount, allocation?: string): QuotaRefusal[] {
    const counted = allocation === undefined ? undefined : this.#uses.get(allocation);
    if (counted !== undefined) this.#count(counted.workspace, counted.amount, -1);
    const refusals = this.uses(workspace).flatMap((use) => refusalOf(use, asked));
    if (counted !== undefined) this.#count(counted.workspace, counted.amount, 1);
    return refusals;
  }

  /** All limits that hold for a workspace, its own first. */
  uses(workspace: string): QuotaUse[] {
    return pathsUpFrom(workspace).flatMap((path) => {
      const limits = this.#limits.get(path) ?? (isHome(path) ? this.#homes : undefined);
      return limits === undefined ? [] : usesOf(path, limits, this.#totals.get(path));
    });
  }

  #count(workspace: string, amount: QuotaAmount, sign: 1 | -1): void {
    for (const path of pathsUpFrom(workspace)) {
      let totals = this.#totals.get(path);
      if (totals === undefined) this.#totals.set(path, (totals = noTotals()));
      addTo(totals, amount, sign);
      if (totals.parts === 0) this.#totals.delete(path);
    }
  }
}

const isOne = (words: string): boolean => words.startsWith('1 ');

function refusalOf(use: QuotaUse, amount: QuotaAmount): QuotaRefusal[] {
  const { workspace, limit, used } = use;
  const asked = askedOf(use, amount);
  if (asked === 0 || used + asked <= limit) return [];
  const [most, now, more] = [limit, used, asked].map((number) => quotaWords(use, number));
  const message = `the limit of ${workspace} is ${most}; ${now} ${isOne(now!) ? 'is' : 'are'} in use, and ${more} ${isOne(more!) ? 'was' : 'were'} asked for`;
  return [{ ...use, asked, isPermanent: asked > limit, message }];
}
