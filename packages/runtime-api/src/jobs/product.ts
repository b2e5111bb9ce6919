import { nodeBookingKind, nodeUnitKind, offeringKind, operatorJobKind } from '@capstan/api';
import type { Product } from '@capstan/platform';

/** The jobs of the REST API. The account of the product is that of its replicas; no controller works on jobs. */
export const operator: Product = {
  name: 'operator',
  kinds: [operatorJobKind],
  boundBy: ['platform'],
  rules: [
    { apiGroups: [operatorJobKind.group], resources: [operatorJobKind.resource], verbs: ['get', 'list'] },
    { apiGroups: [operatorJobKind.group], resources: [`${operatorJobKind.resource}/status`], verbs: ['patch'] },
    { apiGroups: [offeringKind.group], resources: [offeringKind.resource], verbs: ['get', 'patch'] },
    { apiGroups: [nodeBookingKind.group], resources: [nodeBookingKind.resource, nodeUnitKind.resource], verbs: ['list'] },
  ],
  controllers: [],
};
