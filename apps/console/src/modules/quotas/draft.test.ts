import { expect, test } from 'vitest';
import { draftOf, limitsIn } from './draft.ts';

test.each([
  { gpus: 8 },
  { gpus: 0, allocations: 3 },
  { models: { H100: 8, H200: 4 } },
  { gpus: 8, others: { noteWords: '100k' } },
  { storage: '10Ti', gpuMemory: '640Gi', cpu: '64', memory: '1Ti' },
])('the limits %j are the same after a person looked at them', (limits) => expect(limitsIn(draftOf(limits))).toEqual(limits));

test('an emptied field is no limit any more', () => {
  expect(limitsIn({ ...draftOf({ gpus: 8, storage: '10Ti' }), storage: '' })).toEqual({ gpus: 8 });
  expect(limitsIn({ ...draftOf({ gpus: 8 }), gpus: '' })).toBeUndefined();
});

test.each([{ storage: 'ten' }, { models: 'H100' }])('a draft with %j is wrong', (part) =>
  expect(limitsIn({ ...draftOf({ gpus: 8 }), ...part })).toBeUndefined(),
);
