import type { NodeEnrollment } from '@capstan/api';
import { StoreError } from '@capstan/store';
import type { EnrollmentTokens } from './enrollment-tokens.ts';
import type { NodeObjects } from './objects.ts';

const hour = 3_600_000;
/** For so long an enrolment that is over can be looked at, in milliseconds. */
const keptFor = 24 * hour;

export interface EnrollmentUpkeepOptions {
  readonly tokens: EnrollmentTokens;
  readonly objects: NodeObjects;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** How often to look, in milliseconds. */
  readonly every?: number;
}

/** Whether an enrolment was used or expired a day ago, and nobody has tried to use it again since. */
export function isLongOver({ spec, status = {} }: NodeEnrollment, now: Date): boolean {
  const over = Math.min(Date.parse(spec.expiresAt), Date.parse(status.usedAt ?? spec.expiresAt));
  const last = Math.max(over, Date.parse(status.replay?.at ?? '') || 0);
  return last + keptFor <= now.getTime();
}

/** Deletes enrolments a day after they are over. Servers that share a store share this work. */
export function deleteOldEnrollments({ tokens, objects, now, signal, onError, every = hour }: EnrollmentUpkeepOptions): void {
  let isBusy = false;
  const look = async (): Promise<void> => {
    if (isBusy || signal.aborted) return;
    isBusy = true;
    try {
      for (const enrollment of tokens.all()) if (isLongOver(enrollment, now())) await objects.deleteEnrollment(enrollment);
    } catch (error) {
      if (!signal.aborted && !(error instanceof StoreError && error.code === 'closed')) onError(error);
    }
    isBusy = false;
  };
  const timer = setInterval(() => void look(), every).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  void look();
}
