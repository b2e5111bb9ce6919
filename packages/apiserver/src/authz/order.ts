import { status } from '@capstan/machinery';
import type { Attributes, Authorizer, Decision, Gate } from './attributes.ts';

/** The answer of one of several authorizers. */
export interface Opinion {
  /** `none`: the next authorizer decides. */
  readonly kind: 'allow' | 'deny' | 'none';
  readonly reason: string;
  /** Why it has no answer. */
  readonly error?: string;
}

/** One of several authorizers that are asked in turn. */
export interface Step {
  consider(attributes: Attributes): Opinion | Promise<Opinion>;
}

const allow: Opinion = { kind: 'allow', reason: '' };
const none: Opinion = { kind: 'none', reason: '' };

/** Allows members of these groups everything. */
export function allowGroups(groups: readonly string[]): Step {
  return { consider: ({ user }) => (user.groups.some((group) => groups.includes(group)) ? allow : none) };
}

/** Allows these paths for everybody. A trailing `*` matches any suffix; a leading slash is ignored. */
export function allowPaths(paths: readonly string[]): Step {
  const exact = new Set<string>();
  const prefixes: string[] = [];
  for (const path of paths) {
    const bare = withoutSlash(path);
    if (bare.slice(0, -1).includes('*')) throw new TypeError(`only trailing * allowed in ${JSON.stringify(path)}`);
    if (bare.endsWith('*')) prefixes.push(bare.slice(0, -1));
    else exact.add(bare);
  }
  return {
    consider({ isResource, path }) {
      if (isResource) return none;
      const bare = withoutSlash(path);
      return exact.has(bare) || prefixes.some((prefix) => bare.startsWith(prefix)) ? allow : none;
    },
  };
}

const withoutSlash = (path: string): string => (path.startsWith('/') ? path.slice(1) : path);

/** Wraps a synchronous authorizer. */
export function stepOf(authorizer: Authorizer): Step {
  return {
    consider(attributes) {
      const decision = authorizer.authorize(attributes);
      const { allowed, reason } = decision;
      return { kind: allowed ? 'allow' : decision.denied === true ? 'deny' : 'none', reason };
    },
  };
}

/**
 * Asks the authorizers in order until one allows or denies the request. A request that none has an opinion about is denied, with the errors
 * of authorizers that failed.
 */
export function inOrder(steps: readonly Step[]): Gate {
  return {
    authorize(attributes) {
      const round = new Round();
      for (let at = 0; at < steps.length; at++) {
        const opinion = steps[at]!.consider(attributes);
        if (opinion instanceof Promise) return rest(round, opinion, { steps, next: at + 1, attributes });
        const decision = round.take(opinion);
        if (decision !== undefined) return decision;
      }
      return round.end();
    },
  };
}

async function rest(
  round: Round,
  pending: Promise<Opinion>,
  { steps, next, attributes }: { steps: readonly Step[]; next: number; attributes: Attributes },
): Promise<Decision> {
  let decision = round.take(await pending);
  for (let at = next; decision === undefined && at < steps.length; at++) decision = round.take(await steps[at]!.consider(attributes));
  return decision ?? round.end();
}

/** The opinions about one request so far. */
class Round {
  readonly #reasons: string[] = [];
  readonly #errors: string[] = [];

  take({ kind, reason, error }: Opinion): Decision | undefined {
    if (kind === 'allow') return { allowed: true, reason };
    if (kind === 'deny') return { allowed: false, reason, denied: true, ...(error !== undefined && { error }) };
    if (reason !== '') this.#reasons.push(reason);
    if (error !== undefined) this.#errors.push(error);
    return undefined;
  }

  end(): Decision {
    const error = this.#errors.length === 0 ? undefined : status.aggregate(this.#errors);
    return { allowed: false, reason: this.#reasons.join('\n'), ...(error !== undefined && { error }) };
  }
}
