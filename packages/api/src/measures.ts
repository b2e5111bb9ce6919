import { definedKinds } from './defined-kinds.ts';
import type { Measure } from './definition/measure.ts';

/** Everything of Capstan's own kinds that quotas can limit, by name. */
export const measures: ReadonlyMap<string, Measure> = new Map(definedKinds.flatMap((kind) => kind.measures.map((one) => [one.name, one])));
