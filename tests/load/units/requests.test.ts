import { expect, test } from 'vitest';
import { difference, requestsIn } from './requests.ts';

const line = (
  verb: string,
  kind: string,
  rest: { readonly subresource?: string; readonly code?: number; readonly count: number },
): string =>
  `apiserver_request_total{verb="${verb}",group="g",resource="${kind}",subresource="${rest.subresource ?? ''}",code="${rest.code ?? 200}"} ${rest.count}`;

test('adds the requests of a kind with all codes', () => {
  const metrics = ['# HELP', line('GET', 'pods', { count: 2 }), line('GET', 'pods', { code: 404, count: 1 }), 'other_total 7'].join('\n');
  expect(requestsIn(metrics)).toEqual(new Map([['GET pods', 3]]));
});

test('returns the requests between two looks, the most frequent first', () => {
  const before = requestsIn(line('GET', 'pods', { count: 2 }));
  const after = requestsIn(
    [
      line('GET', 'pods', { count: 3 }),
      line('PATCH', 'pods', { subresource: 'status', count: 5 }),
      line('GET', 'nodes', { count: 0 }),
    ].join('\n'),
  );
  expect([...difference(before, after)]).toEqual([
    ['PATCH pods/status', 5],
    ['GET pods', 1],
  ]);
});
