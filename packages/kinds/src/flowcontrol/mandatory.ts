import type { Json } from '@capstan/machinery';

/** Objects that flow control requires and that cannot be changed. */

const everything: Json = {
  nonResourceRules: [{ nonResourceURLs: ['*'], verbs: ['*'] }],
  resourceRules: [{ apiGroups: ['*'], clusterScope: true, namespaces: ['*'], resources: ['*'], verbs: ['*'] }],
};

const group = (name: string): Json => ({ kind: 'Group', group: { name } });

export const mandatoryFlowSchemas: ReadonlyMap<string, Json> = new Map([
  [
    'exempt',
    {
      matchingPrecedence: 1,
      priorityLevelConfiguration: { name: 'exempt' },
      rules: [{ ...everything, subjects: [group('system:masters')] }],
    },
  ],
  [
    'catch-all',
    {
      distinguisherMethod: { type: 'ByUser' },
      matchingPrecedence: 10000,
      priorityLevelConfiguration: { name: 'catch-all' },
      rules: [{ ...everything, subjects: [group('system:unauthenticated'), group('system:authenticated')] }],
    },
  ],
]);

export const mandatoryPriorityLevels: ReadonlyMap<string, Json> = new Map([
  ['exempt', { type: 'Exempt', exempt: { lendablePercent: 0, nominalConcurrencyShares: 0 } }],
  ['catch-all', { type: 'Limited', limited: { lendablePercent: 0, limitResponse: { type: 'Reject' }, nominalConcurrencyShares: 5 } }],
]);
