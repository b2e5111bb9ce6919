import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery';
import type { Attributes } from '../attributes.ts';
import { effectiveUsers } from '../effective-users.ts';
import type { Opinion, Step } from '../order.ts';
import { type Answer, readAnswer } from './answer.ts';
import { type Condition, holds } from './conditions.ts';
import { Memory } from './memory.ts';
import { type ReviewVersion, reviewSpec, reviewText } from './review.ts';

export interface WebhookSettings {
  readonly name: string;
  readonly version: ReviewVersion;
  /** What it means when the webhook cannot be asked: that others decide, or that nobody may. */
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  /** How long answers are remembered, in milliseconds; 0: not at all. */
  readonly allowedLifetime: number;
  readonly otherLifetime: number;
  /** Asked only about requests that all of these hold for. */
  readonly conditions: readonly Condition[];
}

export interface WebhookAuthorizerOptions extends WebhookSettings {
  /** Posts a review, and resolves to the body of the answer. */
  readonly post: (body: string) => Promise<string>;
  /** Told why the webhook could not be asked. */
  readonly onFailure: (message: string) => void;
  /** In milliseconds. */
  readonly now?: () => number;
}

/** So many answers are remembered. */
const capacity = 8192;
/** Requests that say more than this of themselves are asked about each time: nobody fills the memory with long names. */
const longestRemembered = 10_000;

const superuser: Opinion = { kind: 'allow', reason: '' };
const none: Opinion = { kind: 'none', reason: '' };

/** Asks a webhook who may do what, with SubjectAccessReviews. Masters may, whoever is asked. */
export function webhookAuthorizer(options: WebhookAuthorizerOptions): Step {
  const { version, conditions, failurePolicy, allowedLifetime, otherLifetime, post, onFailure, now = Date.now } = options;
  const memory = new Memory<Answer>(capacity, now);
  const asked = new Map<string, Promise<Opinion>>();

  const failed = (error: string): Opinion => ({ kind: failurePolicy === 'Deny' ? 'deny' : 'none', reason: '', error });

  async function ask(key: string, spec: JsonObject, isShort: boolean): Promise<Opinion> {
    try {
      const answer = readAnswer(await post(reviewText(version, spec)), version);
      if (isShort) memory.set(key, answer, answer.allowed ? allowedLifetime : otherLifetime);
      return opinionOf(answer);
    } catch (error) {
      const message = `authorization webhook ${JSON.stringify(options.name)}: ${(error as Error).message}`;
      onFailure(message);
      return failed(message);
    } finally {
      asked.delete(key);
    }
  }

  function about(attributes: Attributes, user: User): Opinion | Promise<Opinion> {
    const spec = reviewSpec(attributes, user);
    if (conditions.length > 0) {
      const met = holds(conditions, spec);
      if (met === false) return none;
      if (met !== true) return failed(`authorization webhook ${JSON.stringify(options.name)}: ${met.error}`);
    }
    const key = JSON.stringify(spec);
    const known = memory.get(key);
    if (known !== undefined) return opinionOf(known);
    // Whoever asks the same while it is asked waits for the same answer.
    let answer = asked.get(key);
    if (answer === undefined) asked.set(key, (answer = ask(key, spec, lengthOf(attributes) < longestRemembered)));
    return answer;
  }

  return {
    consider(attributes) {
      const { user, cluster } = attributes;
      if (user.groups.includes(superuserGroup)) return superuser;
      const users = effectiveUsers(user, cluster);
      return users.length === 1 ? about(attributes, users[0]!) : firstOpinion(users.map((one) => () => about(attributes, one)));
    },
  };
}

/** Of several who one user is, the first that somebody has an opinion about decides. */
async function firstOpinion(questions: readonly (() => Opinion | Promise<Opinion>)[]): Promise<Opinion> {
  const [reasons, errors]: [string[], string[]] = [[], []];
  for (const question of questions) {
    const opinion = await question();
    if (opinion.kind !== 'none') return opinion;
    if (opinion.reason !== '') reasons.push(opinion.reason);
    if (opinion.error !== undefined) errors.push(opinion.error);
  }
  return { kind: 'none', reason: reasons.join('\n'), ...(errors.length > 0 && { error: errors.join(', ') }) };
}

function opinionOf({ allowed, denied, reason }: Answer): Opinion {
  if (allowed && denied) return { kind: 'deny', reason, error: 'webhook subject access review returned both allow and deny response' };
  return { kind: denied ? 'deny' : allowed ? 'allow' : 'none', reason };
}

function lengthOf({ namespace, verb, group, version, resource, subresource, name, path, selectors }: Attributes): number {
  const { field = '', label = '' } = selectors ?? {};
  return [namespace, verb, group, version, resource, subresource, name, path, field, label].reduce((sum, text) => sum + text.length, 0);
}
