import { createHash } from 'node:crypto';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 20);

/** The same for every try to create it, so that an attempt of a step runs at most once. */
export const taskName = (operation: string, step: string, attempt: number): string => `app-${hash(`${operation}\n${step}`)}-${attempt}`;

/** The task that looks at a member again and again. */
export const probeName = (member: string): string => `app-probe-${hash(member)}`;
