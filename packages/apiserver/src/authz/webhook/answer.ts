import { isObject } from '@capstan/machinery';
import type { ReviewVersion } from './review.ts';

/** The answer of a webhook. */
export interface Answer {
  readonly allowed: boolean;
  readonly denied: boolean;
  readonly reason: string;
}

/** Reasons are cached with the answer, and shown to users. */
const longestReason = 1024;

/** Parses the response of a webhook. Throws for anything but a complete SubjectAccessReview: permissions are never guessed. */
export function readAnswer(text: string, version: ReviewVersion): Answer {
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch {
    throw new Error('the answer is not JSON');
  }
  const apiVersion = `authorization.k8s.io/${version}`;
  if (!isObject(review) || review['kind'] !== 'SubjectAccessReview' || review['apiVersion'] !== apiVersion) {
    throw new Error(`expected a SubjectAccessReview of ${apiVersion} in the answer, got ${described(review)}`);
  }
  const status = Object.hasOwn(review, 'status') ? review['status'] : undefined;
  if (!isObject(status)) throw new Error('the answer has no status');
  return { allowed: truth(status, 'allowed'), denied: truth(status, 'denied'), reason: reasonOf(status) };
}

function truth(status: Record<string, unknown>, field: string): boolean {
  const value = Object.hasOwn(status, field) ? status[field] : false;
  if (typeof value !== 'boolean') throw new Error(`expected status.${field} of the answer to be true or false`);
  return value;
}

function reasonOf(status: Record<string, unknown>): string {
  const reason = Object.hasOwn(status, 'reason') ? status['reason'] : '';
  if (typeof reason !== 'string') throw new Error('expected status.reason of the answer to be a string');
  return reason.length > longestReason ? `${reason.slice(0, longestReason)}…` : reason;
}

function described(review: unknown): string {
  if (!isObject(review)) return 'something else';
  return `kind ${JSON.stringify(review['kind'])?.slice(0, 100)} of ${JSON.stringify(review['apiVersion'])?.slice(0, 100)}`;
}
