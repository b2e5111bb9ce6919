import { nodeReservationKind } from '@capstan/api';
import type { PolicyRule } from '@capstan/platform';

export const name = 'reservations';

export const rules: readonly PolicyRule[] = [
  { apiGroups: [nodeReservationKind.group], resources: [nodeReservationKind.resource], verbs: ['get', 'list', 'watch', 'delete'] },
];
