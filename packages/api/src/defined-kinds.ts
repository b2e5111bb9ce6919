import type { KindDefinition } from './definition/define-kind.ts';
import { nodeTaskKind } from './fleet/node-task.ts';

/** Every kind of Capstan's own. The files of `npm run generate` and the tests of all definitions follow this list. */
export const definedKinds: readonly KindDefinition[] = [nodeTaskKind];
