import { gibibytes } from '../words/amounts.ts';
import type { QuotaAmount, QuotaLimits, QuotaRefusal } from './limits.ts';

interface Totals {
  gpus: number;
  gpuMemory: number;
  readonly models: Map<string, number>;
}

/** A workspace by its path, such as `root:acme:research`. */
export interface QuotaWorkspace {
  readonly path: string;
  readonly isHome: boolean;
  /** Its own; a home without any gets the default. */
  readonly limits?: QuotaLimits;
}

/**
 * Knows what every workspace uses, together with everything below it, and the limits. Allocations count from the moment in which they are
 * queued: otherwise those that wait could exceed a limit together.
 */
export class QuotaLedger {
  readonly #defaultOfHomes: QuotaLimits;
  readonly #limits = new Map<string, QuotaLimits>();
  readonly #totals = new Map<string, Totals>();
  readonly #uses = new Map<string, { readonly workspace: string; readonly amount: QuotaAmount }>();

  constructor(defaultOfHomes: QuotaLimits = {}) {
    this.#defaultOfHomes = defaultOfHomes;
  }

  setWorkspace({ path, isHome, limits }: QuotaWorkspace): void {
    this.#limits.set(path, limits ?? (isHome ? this.#defaultOfHomes : {}));
  }

  removeWorkspace(path: string): void {
    this.#limits.delete(path);
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
    const refusals = pathsUpFrom(workspace).flatMap((path) => this.#refusals(path, asked));
    if (counted !== undefined) this.#count(counted.workspace, counted.amount, 1);
    return refusals;
  }

  #refusals(path: string, { model, gpus, gpuMemory }: QuotaAmount): QuotaRefusal[] {
    const limits = this.#limits.get(path);
    if (limits === undefined) return [];
    const totals = this.#totals.get(path);
    const checks: (Pick<QuotaRefusal, 'resource' | 'used' | 'asked'> & { limit: number | undefined; words: (amount: number) => string })[] =
      [
        { resource: 'gpus', limit: limits.gpus, used: totals?.gpus ?? 0, asked: gpus, words: (amount) => `${amount} GPUs` },
        {
          resource: 'gpuMemory',
          limit: limits.gpuMemory,
          used: totals?.gpuMemory ?? 0,
          asked: gpuMemory,
          words: (amount) => `${gibibytes(amount)} of GPU memory`,
        },
      ];
    if (model !== undefined && limits.models !== undefined && Object.hasOwn(limits.models, model))
      checks.unshift({
        resource: 'model',
        limit: limits.models[model],
        used: totals?.models.get(model) ?? 0,
        asked: gpus,
        words: (amount) => `${amount} ${model}`,
      });
    return checks.flatMap(({ limit, words, ...rest }) => {
      const { used, asked } = rest;
      if (limit === undefined || asked === 0 || used + asked <= limit) return [];
      const message = `the limit of ${path} is ${words(limit)}; ${words(used)} are in use, and ${words(asked)} were asked for`;
      return [{ ...rest, workspace: path, limit, isPermanent: asked > limit, message }];
    });
  }

  #count(workspace: string, { model, gpus, gpuMemory }: QuotaAmount, sign: 1 | -1): void {
    for (const path of pathsUpFrom(workspace)) {
      let totals = this.#totals.get(path);
      if (totals === undefined) this.#totals.set(path, (totals = { gpus: 0, gpuMemory: 0, models: new Map() }));
      totals.gpus += sign * gpus;
      totals.gpuMemory += sign * gpuMemory;
      if (model !== undefined) totals.models.set(model, (totals.models.get(model) ?? 0) + sign * gpus);
      if (totals.gpus === 0 && totals.gpuMemory === 0) this.#totals.delete(path);
    }
  }
}

/** `root:acme:research`, `root:acme`, `root`. */
function pathsUpFrom(path: string): string[] {
  const names = path.split(':');
  return names.map((_, index) => names.slice(0, names.length - index).join(':'));
}
