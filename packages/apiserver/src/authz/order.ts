import { status } from '@capstan/machinery';
import type { Attributes, Authorizer, Decision, Gate } from './attributes.ts';

/** What one of several authorizers says. */
export interface Opinion {
  /** `none`: whoever comes next decides. */
  readonly kind: 'allow' | 'deny' | 'none';
  readonly reason: string;
  /** What it could not find out. */
  readonly error?: string;
}

/** One of several authorizers that are asked in turn. */
export interface Step {
  consider(attributes: Attributes): Opinion | Promise<Opinion>;
}

const allow: Opinion = { kind: 'allow', reason: '' };
const none: Opinion = { kind: 'none', reason: '' };

/** Members of these groups may do anything. */
export function allowGroups(groups: readonly string[]): Step {
  return { consider: ({ user }) => (user.groups.some((group) => groups.includes(group)) ? allow : none) };
}

/** Everybody may see these paths. One that ends with `*` stands for all that begin like it; a slash at the beginning makes no difference. */
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

/** What decides from memory, as one of several. */
export function stepOf(authorizer: Authorizer): Step {
  return {
    consider(attributes) {
      const decision = authorizer.authorize(attributes);
      const { allowed, reason } = decision;
      return { kind: allowed ? 'allow' : decision.denied === true ? 'deny' : 'none', reason };
    },
  };
}

/** Asks one after the other until one of them allows or denies it. What nobody has an opinion about is refused; if somebody could not tell, it is an error. */
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

/** What was said so far about one request. */
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
