import { nodeBookingKind, nodeTaskKind, nodeUnitKind } from '@capstan/api';
import type { PolicyRule } from '@capstan/platform';

export const name = 'cleaning';

/** All that the controller needs beside the rights on nodes that the product has. */
export const rules: readonly PolicyRule[] = [
  { apiGroups: [nodeBookingKind.group], resources: [nodeBookingKind.resource], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [nodeTaskKind.group], resources: [nodeTaskKind.resource], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: [nodeUnitKind.group], resources: [nodeUnitKind.resource], verbs: ['get', 'list', 'watch'] },
];
