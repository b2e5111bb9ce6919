import type { Random } from './random.ts';
import type { FuzzedRequest } from './requests.ts';

/** Makes the requests of one client, one after the other. */
export interface RequestSource {
  next(): FuzzedRequest;
}

/** Few names, so that requests meet each other's objects. */
export const nameOf = (random: Random): string => `n${random.below(12)}`;
