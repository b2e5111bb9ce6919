import { gpuNodeKind, nodeBookingKind, nodeEnrollmentKind, nodeScriptKind, nodeTaskKind } from '@capstan/api';
import type { Product } from '@capstan/platform';

/** The machines of the platform and the work on them. Tenants see none of it. */
export const fleet: Product = {
  name: 'fleet',
  kinds: [gpuNodeKind, nodeEnrollmentKind, nodeTaskKind, nodeScriptKind, nodeBookingKind],
  boundBy: ['platform'],
  rules: [],
  controllers: [],
};
