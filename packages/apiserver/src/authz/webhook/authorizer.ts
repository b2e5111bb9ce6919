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
  /** The opinion when the webhook cannot be reached: the next authorizer decides, or the request is denied. */
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  /** How long answers are cached, in milliseconds; 0 disables caching. */
  readonly allowedLifetime: number;
  readonly otherLifetime: number;
  /** The webhook is called only for requests that meet all of these. */
  readonly conditions: readonly Condition[];
}

export interface WebhookAuthorizerOptions extends WebhookSettings {
  /** Posts a review, and resolves to the body of the response. */
  readonly post: (body: string) => Promise<string>;
  /** Called with the reason when a call fails. */
  readonly onFailure: (message: string) => void;
  /** In milliseconds. */
  readonly now?: () => number;
}

/** The number of cached answers. */
const capacity = 8192;
/** Answers to longer requests are not cached, so that long names cannot fill the memory. */
const longestRemembered = 10_000;

const superuser: Opinion = { kind: 'allow', reason: '' };
const none: Opinion = { kind: 'none', reason: '' };

/** Authorizes requests by sending SubjectAccessReviews to a webhook. Members of system:masters are always allowed. */
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
    // Concurrent requests with the same review share one call.
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

/** Asks about the effective users of a user in order. The first opinion wins. */
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
