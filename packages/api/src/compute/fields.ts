import { choice, type Required } from '../definition/schema.ts';

export const computeGroup = 'compute.capstan.dev';

export const strengths = ['Required', 'Preferred'] as const;
export type Strength = (typeof strengths)[number];

/** Whether something must be so, or should be so if that is possible. */
export function strength(description: string): Required<Strength> {
  return choice(description, strengths);
}
