import type { AppError } from '@capstan/api';

/** Why something is not done, as it appears in `lastErrors`. */
export type Problem = Pick<AppError, 'code' | 'message' | 'userFixable' | 'retryable' | 'member'>;

export type Checked<T> = { readonly kind: 'ok'; readonly value: T } | { readonly kind: 'problem'; readonly problem: Problem };

export const ok = <T>(value: T): Checked<T> => ({ kind: 'ok', value });

/** A problem of the person who asked. */
export function refuse<T>(code: string, message: string, more: Partial<Problem> = {}): Checked<T> {
  return { kind: 'problem', problem: { code, message: message.slice(0, 4096), userFixable: true, retryable: false, ...more } };
}
