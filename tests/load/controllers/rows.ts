import type { Measurement } from '../profiles/profile.ts';

/** The same work, done by parts of Kubernetes and by parts of Capstan. */
export interface Pair {
  readonly kubernetes: Measurement;
  readonly capstan: Measurement;
}
