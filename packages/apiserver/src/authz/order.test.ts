import { rootCluster } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import { type Attributes, nothingWanted } from './attributes.ts';
import { allowGroups, allowPaths, inOrder, type Opinion, type Step, stepOf } from './order.ts';

const wanting: Attributes = {
  ...nothingWanted,
  cluster: rootCluster,
  user: { name: 'jane', groups: ['a'] },
  verb: 'get',
  path: '/healthz',
};
const saying = (opinion: Opinion, later = false): Step => ({ consider: () => (later ? Promise.resolve(opinion) : opinion) });
const allow: Opinion = { kind: 'allow', reason: 'yes' };
const deny: Opinion = { kind: 'deny', reason: 'no' };
const none: Opinion = { kind: 'none', reason: 'perhaps' };

describe.each([false, true])('authorizers in order (asynchronous: %s)', (later) => {
  const decide = (...opinions: Opinion[]) => inOrder(opinions.map((one) => saying(one, later))).authorize(wanting);

  it('are asked until one has an opinion', async () => {
    expect(await decide(none, allow, deny)).toEqual({ allowed: true, reason: 'yes' });
    expect(await decide(none, deny, allow)).toEqual({ allowed: false, reason: 'no', denied: true });
  });

  it('deny a request that none has an opinion about, with all their reasons', async () => {
    expect(await decide(none, { kind: 'none', reason: '' }, none)).toEqual({ allowed: false, reason: 'perhaps\nperhaps' });
  });

  it('report an error of one, unless another allows the request', async () => {
    const broken: Opinion = { kind: 'none', reason: '', error: 'down' };
    expect(await decide(broken, allow)).toEqual({ allowed: true, reason: 'yes' });
    expect(await decide(broken, none)).toEqual({ allowed: false, reason: 'perhaps', error: 'down' });
    expect(await decide({ kind: 'deny', reason: '', error: 'down' }, allow)).toEqual({
      allowed: false,
      reason: '',
      denied: true,
      error: 'down',
    });
  });
});

it('inOrder asks no further authorizer after the first opinion', () => {
  const never: Step = {
    consider() {
      throw new Error('asked');
    },
  };
  expect(inOrder([saying(allow), never]).authorize(wanting)).toEqual({ allowed: true, reason: 'yes' });
});

it('RBAC passes on a final denial, and otherwise has no opinion', () => {
  const step = (denied: boolean) => stepOf({ authorize: () => ({ allowed: false, reason: 'r', denied }) }).consider(wanting);
  expect([step(true), step(false)]).toEqual([
    { kind: 'deny', reason: 'r' },
    { kind: 'none', reason: 'r' },
  ]);
});

it('allowGroups allows members everything', () => {
  expect(['a', 'b'].map((group) => allowGroups([group]).consider(wanting))).toMatchObject([{ kind: 'allow' }, { kind: 'none' }]);
});

it.each([
  [['/healthz'], '/healthz', 'allow'],
  [['healthz'], '/healthz', 'allow'],
  [['/healthz'], '/healthz/ping', 'none'],
  [['/healthz/*'], '/healthz/ping', 'allow'],
  [['*'], '/anything', 'allow'],
  [['/'], '/', 'allow'],
  [[], '/', 'none'],
])('with the paths %j, %s is %s', (paths, path, kind) => {
  expect(allowPaths(paths).consider({ ...wanting, path })).toMatchObject({ kind });
});

it('allowPaths ignores resources, and accepts a star only at the end', () => {
  expect(allowPaths(['*']).consider({ ...wanting, isResource: true })).toMatchObject({ kind: 'none' });
  expect(() => allowPaths(['/a*b'])).toThrow('only trailing * allowed in "/a*b"');
});
