import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asClusterId } from '@capstan/api';
import { afterEach, describe, expect, it } from 'vitest';
import { type Attributes, nothingWanted } from '../attributes.ts';
import { warrantsExtra } from '../effective-users.ts';
import type { Opinion } from '../order.ts';
import { readAnswer } from './answer.ts';
import { type WebhookAuthorizerOptions, webhookAuthorizer } from './authorizer.ts';
import { Poster } from './client.ts';
import { compileCondition } from './conditions.ts';
import { Memory } from './memory.ts';

const jane = {
  name: 'jane',
  uid: 'u1',
  groups: ['a', 'b'],
  extra: { colour: ['blue'], 'authorization.kcp.io/cluster-name': ['elsewhere'] },
};
const wanting: Attributes = {
  ...nothingWanted,
  cluster: asClusterId('abc'),
  user: jane,
  verb: 'list',
  isResource: true,
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  namespace: 'shop',
};
const review = (status: object, version = 'v1'): string =>
  JSON.stringify({ apiVersion: `authorization.k8s.io/${version}`, kind: 'SubjectAccessReview', status });

interface Asked {
  readonly sent: { apiVersion: string; spec: Record<string, unknown> }[];
  readonly failures: string[];
  time: number;
  consider(attributes?: Partial<Attributes>): Promise<Opinion>;
}

function webhook(answers: string | (() => string | Promise<string>), more: Partial<WebhookAuthorizerOptions> = {}): Asked {
  const asked: Omit<Asked, 'consider'> = { sent: [], failures: [], time: 0 };
  const authorizer = webhookAuthorizer({
    name: 'policy',
    version: 'v1',
    failurePolicy: 'NoOpinion',
    allowedLifetime: 300_000,
    otherLifetime: 30_000,
    conditions: [],
    now: () => asked.time,
    onFailure: (message) => asked.failures.push(message),
    post: async (body) => {
      asked.sent.push(JSON.parse(body));
      return typeof answers === 'string' ? answers : await answers();
    },
    ...more,
  });
  return Object.assign(asked, {
    consider: async (attributes: Partial<Attributes> = {}) => authorizer.consider({ ...wanting, ...attributes }),
  });
}

describe('a webhook', () => {
  it('receives the user, the request and the workspace, whatever extra users have', async () => {
    const asked = webhook(review({ allowed: true, reason: 'friend' }));
    expect(await asked.consider()).toEqual({ kind: 'allow', reason: 'friend' });
    expect(asked.sent).toEqual([
      {
        kind: 'SubjectAccessReview',
        apiVersion: 'authorization.k8s.io/v1',
        metadata: { creationTimestamp: null },
        spec: {
          resourceAttributes: { namespace: 'shop', verb: 'list', group: 'apps', version: 'v1', resource: 'deployments' },
          user: 'jane',
          groups: ['a', 'b'],
          uid: 'u1',
          extra: { colour: ['blue'], 'authorization.kubernetes.io/cluster-name': ['abc'], 'authorization.kcp.io/cluster-name': ['abc'] },
        },
        status: { allowed: false },
      },
    ]);
  });

  it('receives non-resource paths, in its own version', async () => {
    const asked = webhook(review({ allowed: false }, 'v1beta1'), { version: 'v1beta1' });
    expect(await asked.consider({ isResource: false, path: '/metrics', verb: 'get' })).toEqual({ kind: 'none', reason: '' });
    expect(asked.sent[0]!.spec).toMatchObject({ nonResourceAttributes: { path: '/metrics', verb: 'get' }, group: ['a', 'b'] });
    expect(asked.sent[0]!.spec).not.toHaveProperty('groups');
  });

  it('receives the selectors of a list, as far as the API can express them', async () => {
    const asked = webhook(review({ allowed: true }));
    await asked.consider({ selectors: { field: 'metadata.name=a,status.phase!=Done', label: 'tier=gold,zone in (a,b),!old,new,size>3' } });
    await asked.consider({ selectors: { field: 'what', label: '=' } });
    const [first, second] = asked.sent.map(({ spec }) => spec['resourceAttributes']);
    expect(first).toMatchObject({
      fieldSelector: {
        requirements: [
          { key: 'metadata.name', operator: 'In', values: ['a'] },
          { key: 'status.phase', operator: 'NotIn', values: ['Done'] },
        ],
      },
      labelSelector: {
        requirements: [
          { key: 'new', operator: 'Exists' },
          { key: 'old', operator: 'DoesNotExist' },
          { key: 'tier', operator: 'In', values: ['gold'] },
          { key: 'zone', operator: 'In', values: ['a', 'b'] },
        ],
      },
    });
    expect(second).toEqual({ namespace: 'shop', verb: 'list', group: 'apps', version: 'v1', resource: 'deployments' });
  });

  it('can deny, which is final; without an opinion, the next authorizer decides', async () => {
    expect(await webhook(review({ allowed: false, denied: true, reason: 'no' })).consider()).toEqual({ kind: 'deny', reason: 'no' });
    expect(await webhook(review({ allowed: false, reason: 'not mine' })).consider()).toEqual({ kind: 'none', reason: 'not mine' });
  });

  it('is not called for system:masters', async () => {
    const asked = webhook(review({ allowed: false, denied: true }));
    expect(await asked.consider({ user: { name: 'admin', groups: ['system:masters'] } })).toEqual({ kind: 'allow', reason: '' });
    expect(asked.sent).toEqual([]);
  });

  it('is asked about all effective users of a user, until it has an opinion', async () => {
    const warrant = JSON.stringify({ user: 'joe', groups: ['c'] });
    const answers = [review({ allowed: false }), review({ allowed: true })];
    const asked = webhook(() => answers.shift()!);
    expect(await asked.consider({ user: { name: 'jane', groups: [], extra: { [warrantsExtra]: [warrant] } } })).toMatchObject({
      kind: 'allow',
    });
    expect(asked.sent.map(({ spec }) => spec['user'])).toEqual(['jane', 'joe']);
  });

  it('is called again when its answer has expired, which takes longer for allowed requests', async () => {
    for (const [status, lifetime] of [
      [{ allowed: true }, 300_000],
      [{ allowed: false }, 30_000],
    ] as const) {
      const asked = webhook(review(status));
      await asked.consider();
      asked.time = lifetime - 1;
      await asked.consider();
      expect(asked.sent).toHaveLength(1);
      asked.time = lifetime;
      await asked.consider();
      expect(asked.sent).toHaveLength(2);
    }
  });

  it('is called every time if caching is disabled or the request is very long', async () => {
    const asked = webhook(review({ allowed: true }), { allowedLifetime: 0 });
    for (let times = 0; times < 2; times++) await asked.consider();
    const long = webhook(review({ allowed: true }));
    for (let times = 0; times < 2; times++) await long.consider({ selectors: { field: '', label: `a in (${'x'.repeat(10_000)})` } });
    expect([asked.sent.length, long.sent.length]).toEqual([2, 2]);
  });

  it('is called once for concurrent identical requests', async () => {
    const asked = webhook(review({ allowed: true }), { allowedLifetime: 0 });
    const opinions = await Promise.all(Array.from({ length: 20 }, () => asked.consider()));
    expect([asked.sent.length, new Set(opinions.map(({ kind }) => kind))]).toEqual([1, new Set(['allow'])]);
  });

  it('does not share answers between users or workspaces', async () => {
    const asked = webhook(review({ allowed: true }));
    await asked.consider();
    await asked.consider({ cluster: asClusterId('other') });
    await asked.consider({ user: { ...jane, groups: ['a'] } });
    expect(asked.sent).toHaveLength(3);
  });

  it.each([
    ['NoOpinion', 'none'],
    ['Deny', 'deny'],
  ] as const)('that fails leads, with the policy %s, to %s; the error is reported and not cached', async (failurePolicy, kind) => {
    const asked = webhook(() => Promise.reject(new Error('Post "https://x": connection refused')), { failurePolicy });
    const error = 'authorization webhook "policy": Post "https://x": connection refused';
    for (let times = 0; times < 2; times++) expect(await asked.consider()).toEqual({ kind, reason: '', error });
    expect([asked.sent.length, asked.failures]).toEqual([2, [error, error]]);
  });

  it('that allows and denies at once denies, with an error', async () => {
    expect(await webhook(review({ allowed: true, denied: true })).consider()).toEqual({
      kind: 'deny',
      reason: '',
      error: 'webhook subject access review returned both allow and deny response',
    });
  });

  it('is skipped if its conditions are not met', async () => {
    const conditions = ["request.user != 'jane'"].map(compileCondition);
    const asked = webhook(review({ allowed: true }), { conditions });
    expect([await asked.consider(), asked.sent]).toEqual([{ kind: 'none', reason: '' }, []]);
    expect(await asked.consider({ user: { name: 'joe', groups: [] } })).toMatchObject({ kind: 'allow' });
  });

  it('has conditions over the request, and an error in them counts as a failure', async () => {
    const seen = webhook(review({ allowed: true }), {
      conditions: [
        "has(request.resourceAttributes) && request.resourceAttributes.namespace == 'shop'",
        "'a' in request.groups && request.extra['colour'] == ['blue']",
      ].map(compileCondition),
    });
    expect(await seen.consider()).toMatchObject({ kind: 'allow' });
    const wrong = webhook(review({ allowed: true }), {
      failurePolicy: 'Deny',
      conditions: [compileCondition("request.extra['nothing'] == ['x']")],
    });
    expect(await wrong.consider()).toMatchObject({ kind: 'deny', error: expect.stringContaining('no such key') });
    expect(() => compileCondition('request.user')).toThrow('must evaluate to bool but got string');
    expect(() => compileCondition('request.nobody == 1')).toThrow('compilation failed');
  });
});

describe('a response', () => {
  it.each([
    ['<html>', 'the answer is not JSON'],
    ['null', 'expected a SubjectAccessReview of authorization.k8s.io/v1 in the answer, got something else'],
    ['[]', 'expected a SubjectAccessReview'],
    ['{"kind":"SubjectAccessReview"}', 'expected a SubjectAccessReview'],
    [review({ allowed: true }, 'v1beta1'), 'expected a SubjectAccessReview of authorization.k8s.io/v1'],
    ['{"kind":"Status","apiVersion":"v1","status":{"allowed":true}}', 'got kind "Status" of "v1"'],
    ['{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1"}', 'the answer has no status'],
    [
      '{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","__proto__":{"status":{"allowed":true}}}',
      'the answer has no status',
    ],
    [review({ allowed: 'true' }), 'expected status.allowed of the answer to be true or false'],
    [review({ allowed: 1 }), 'expected status.allowed'],
    [review({ allowed: true, denied: 'no' }), 'expected status.denied'],
    [review({ allowed: true, reason: {} }), 'expected status.reason'],
  ])('%s allows nothing', (text, message) => {
    expect(() => readAnswer(text, 'v1')).toThrow(message);
  });

  it('is stored with a truncated reason', () => {
    expect(readAnswer(review({ allowed: false, reason: 'x'.repeat(100_000) }), 'v1').reason.length).toBe(1025);
  });
});

describe('a call', () => {
  const opened: Disposable[] = [];
  afterEach(() => {
    for (const one of opened.splice(0)) one[Symbol.dispose]();
  });

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push({ [Symbol.dispose]: () => server.close().closeAllConnections() });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/authorize`;
  }
  function posting(url: string, timeout = 10_000): { post: () => Promise<string>; pauses: number[] } {
    const pauses: number[] = [];
    const pause = async (milliseconds: number): Promise<void> => void pauses.push(milliseconds);
    const poster = new Poster({ connection: { url, credentials: () => ({ authorization: 'Bearer t' }) }, timeout, pause, random: () => 0 });
    opened.push(poster);
    return { post: () => poster.post('{}'), pauses };
  }

  it('sends credentials, and returns the body', async () => {
    const url = await serve((request, response) => response.end(`${request.method} ${request.url} ${request.headers.authorization}`));
    expect(await posting(url).post()).toBe('POST /authorize Bearer t');
  });

  it.each([301, 302, 307, 308])('does not follow redirects (%d)', async (code) => {
    let calls = 0;
    const elsewhere = await serve((_request, response) => response.end(review({ allowed: true })));
    const url = await serve((_request, response) => {
      calls++;
      response.writeHead(code, { location: elsewhere }).end();
    });
    await expect(posting(url).post()).rejects.toThrow(
      `Post ${JSON.stringify(url)}: answered with status ${code}; redirects are not followed`,
    );
    expect(calls).toBe(1);
  });

  it('reads at most a megabyte of an endless response', async () => {
    const url = await serve((_request, response) => {
      const chunk = 'x'.repeat(64 << 10);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    await expect(posting(url).post()).rejects.toThrow('the answer is larger than 1048576 bytes');
  });

  it.each([429, 500, 504])('is tried five times while the status is %d, with growing pauses', async (code) => {
    let calls = 0;
    const url = await serve((_request, response) => {
      calls++;
      response.writeHead(code).end();
    });
    const { post, pauses } = posting(url);
    await expect(post()).rejects.toThrow(`answered with status ${code}`);
    expect([calls, pauses]).toEqual([5, [500, 750, 1125, 1687.5]]);
  });

  it('is retried until it succeeds, and not at all after other errors', async () => {
    const codes = [500, 429, 200];
    const url = await serve((_request, response) => response.writeHead(codes.shift()!).end('fine'));
    expect(await posting(url).post()).toBe('fine');
    const strict = await serve((_request, response) => response.writeHead(401).end());
    const { post, pauses } = posting(strict);
    await expect(post()).rejects.toThrow('answered with status 401');
    expect(pauses).toEqual([]);
  });

  it('reports why the webhook could not be reached, and a timeout', async () => {
    await expect(posting('http://127.0.0.1:1/x').post()).rejects.toThrow(
      'Post "http://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused',
    );
    const silent = await serve(() => {});
    await expect(posting(silent, 20).post()).rejects.toThrow('no answer within 0.02 s (context deadline exceeded)');
  });
});

describe('the cache', () => {
  it('keeps the most recently used entries', () => {
    const memory = new Memory<number>(2, () => 0);
    memory.set('a', 1, 10);
    memory.set('b', 2, 10);
    memory.get('a');
    memory.set('c', 3, 10);
    expect(['a', 'b', 'c'].map((key) => memory.get(key))).toEqual([1, undefined, 3]);
  });
});
