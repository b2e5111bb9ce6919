import { addQuantities, type KubeObject, parseQuantity, printQuantity, readAmounts, zeroQuantity } from '@capstan/machinery';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Settling } from './settling.ts';

const quota = (used: object): KubeObject => ({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: {}, status: { used } }) as KubeObject;

function started(): { settling: Settling; at: (now: number) => void; left: (name: string) => string; wait: (name: string) => number } {
  let now = 0;
  const settling = new Settling(1000, () => now);
  now = 5000;
  return {
    settling,
    at: (time) => (now = time),
    left: (name) => printQuantity(settling.pending('q', name).amount ?? parseQuantity('-1')),
    wait: (name) => settling.pending('q', name).wait,
  };
}

test('a charge is pending until its object is visible', () => {
  const { settling, left } = started();
  settling.charged('q', quota({ pods: '1', cpu: '1', secrets: '1' }), quota({ pods: '4', cpu: '1000m', secrets: '0', configmaps: '9' }));
  expect(['pods', 'cpu', 'secrets', 'configmaps'].map(left)).toEqual(['3', '0', '0', '0']);
  settling.created('q', readAmounts({ pods: '1', 'count/pods': '1' }));
  settling.created('q', readAmounts({ pods: '1' }));
  expect(left('pods')).toBe('1');
});

test('an object may be visible before its charge', () => {
  const { settling, left } = started();
  settling.created('q', readAmounts({ cpu: '500m' }));
  settling.charged('q', quota({ cpu: '0' }), quota({ cpu: '2' }));
  expect(left('cpu')).toBe('1500m');
});

test('a charge without an object is pending for a while', () => {
  const { settling, at, left, wait } = started();
  settling.charged('q', quota({ pods: '0' }), quota({ pods: '1' }));
  at(5400);
  settling.charged('q', quota({ pods: '1' }), quota({ pods: '3' }));
  expect([left('pods'), wait('pods')]).toEqual(['3', 600]);
  at(6000);
  expect([left('pods'), wait('pods')]).toEqual(['2', 400]);
  at(6400);
  expect([left('pods'), wait('pods')]).toEqual(['0', 0]);
});

test('the pending charges of an existing quota are unknown at first', () => {
  let now = 100;
  const settling = new Settling(1000, () => now);
  settling.inherit('old');
  expect(settling.pending('old', 'pods')).toEqual({ amount: undefined, wait: 1000 });
  expect(settling.pending('new', 'pods')).toEqual({ amount: zeroQuantity, wait: 0 });
  now = 1100;
  expect(settling.pending('old', 'pods')).toEqual({ amount: zeroQuantity, wait: 0 });
});

test('all charges without objects are pending, in whatever order charges and objects arrive', () => {
  const step = fc.record({ isCharge: fc.boolean(), amount: fc.integer({ min: 1, max: 9 }) });
  fc.assert(
    fc.property(fc.array(step), (all) => {
      const { settling, left } = started();
      let total = 0;
      let sum = zeroQuantity;
      for (const { isCharge, amount } of all) {
        total += isCharge ? amount : -amount;
        const next = addQuantities(sum, parseQuantity(String(amount)));
        if (isCharge) settling.charged('q', quota({ pods: printQuantity(sum) }), quota({ pods: printQuantity(next) }));
        else settling.created('q', readAmounts({ pods: String(amount) }));
        if (isCharge) sum = next;
      }
      expect(left('pods')).toBe(String(Math.max(0, total)));
    }),
  );
});
