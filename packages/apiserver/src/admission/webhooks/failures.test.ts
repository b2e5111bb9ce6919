import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, addData, Bench, patch, type Question, register, review } from './testing.ts';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.start();
});

afterAll(() => bench[Symbol.asyncDispose]());

afterEach(() => bench.reset());

describe('a webhook that denies a request', () => {
  it.each([
    [{}, 400, 'admission webhook "v.test.io" denied the request without explanation'],
    [{ status: { message: 'no way', code: 403, reason: 'Forbidden' } }, 403, 'admission webhook "v.test.io" denied the request: no way'],
    [{ status: { reason: 'Because' } }, 400, 'admission webhook "v.test.io" denied the request: Because'],
    [{ status: { message: 'odd', code: 200, status: 'Success' } }, 400, 'admission webhook "v.test.io" denied the request: odd'],
  ])('leads to an error: %j', async (response, code, message) => {
    bench.answer = () => ({ response: { allowed: false, ...response } });
    await bench.validating('v');
    const reply = await bench.create();
    expect([reply.code, reply.json().message, reply.json()['status']]).toEqual([code, message, 'Failure']);
  });

  it('overrules others that allow it', async () => {
    bench.answer = ({ path }) => ({ response: { allowed: path !== '/no', warnings: [`from ${path}`] } });
    await bench.validating('yes', 'no', 'too');
    const reply = await bench.create();
    expect(reply.json().message).toBe('admission webhook "no.test.io" denied the request without explanation');
    expect(reply.headers['warning']).toContain('from /too');
  });
});

describe('a webhook', () => {
  const never = new Promise<never>(() => {});
  const failures: [string, (question: Question) => Answer, string | RegExp][] = [
    ['closes the connection', () => undefined, /failed to call webhook: Post "https:.*": EOF$/],
    ['does not answer', () => ({ wait: never }), /failed to call webhook: Post "https:.*\?timeout=1s": context deadline exceeded$/],
    ['stalls in the middle', () => ({ stall: '{"kind":' }), /context deadline exceeded$/],
    ['returns an error', () => ({ body: 'boom', code: 500 }), /an error on the server \("boom"\) has prevented the request/],
    ['returns 404', () => ({ body: '', code: 404 }), /the server could not find the requested resource$/],
    ['returns an empty body', () => ({ body: '' }), /0-length response with status code: 200/],
    ['does not return JSON', () => ({ body: 'hello' }), /couldn't get version\/kind; json parse error/],
    ['returns another kind', () => ({ body: '{"kind":"Pod","apiVersion":"v1"}' }), /no kind "Pod" is registered for version "v1"/],
    ['returns a review without a response', () => ({ body: '{}' }), /received invalid webhook response: webhook response was absent$/],
    [
      'returns another uid',
      (question) => ({ body: review(question, { uid: 'other', allowed: true }) }),
      /expected response.uid="[-0-9a-f]{36}", got "other"$/,
    ],
    ['returns too much', () => ({ body: 'x'.repeat((5 << 20) + 1) }), /the answer is larger than 5242880 bytes$/],
    ['returns wrong types', (question) => ({ body: review(question, { allowed: 'yes' }) }), /cannot unmarshal string .* of type bool$/],
    ['returns a patch although it is validating', () => addData('x'), /validating webhook may not return response.patch$/],
  ];

  /** Short only for those that never respond. */
  const secondsFor = (what: string): number => (what === 'does not answer' || what === 'stalls in the middle' ? 1 : 10);

  it.each(failures)('rejects the request when it %s', async (what, failing, message) => {
    bench.answer = failing;
    const timeoutSeconds = secondsFor(what);
    await register(bench.server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: bench.webhook.at('v'), timeoutSeconds }]);
    const reply = await bench.create();
    expect([reply.code, reply.json().reason]).toEqual([500, 'InternalError']);
    expect(reply.json().message).toMatch(/^Internal error occurred: failed calling webhook "v\.test\.io": /);
    expect(reply.json().message).toMatch(message);
  });

  it.each(failures)('is ignored, if the failure policy says so, when it %s', async (what, failing) => {
    bench.answer = failing;
    const timeoutSeconds = secondsFor(what);
    await register(bench.server, 'validating', 'hooks', [
      { name: 'v.test.io', clientConfig: bench.webhook.at('v'), failurePolicy: 'Ignore', timeoutSeconds },
    ]);
    expect((await bench.create()).code).toBe(201);
  });

  it.each([
    ['an invalid URL', { url: 'https://localhost:99999/' }, /Unparsable URL: "https:\/\/localhost:99999\/"$/],
    [
      'an invalid CA bundle',
      { url: 'https://127.0.0.1:1/', caBundle: Buffer.from('nonsense').toString('base64') },
      /Post "https:\/\/127\.0\.0\.1:1\//,
    ],
  ])('affects only the requests it matches when it has %s', async (_, clientConfig, message) => {
    await register(bench.server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig }]);
    expect((await bench.create()).json().message).toMatch(message);
    expect((await bench.server.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { generateName: 'other-' } } })).code).toBe(
      201,
    );
  });

  it('is reported if its certificate is not trusted', async () => {
    const { url } = bench.webhook.at('v');
    await register(bench.server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: { url: url! } }]);
    expect((await bench.create()).json().message).toMatch(/x509: certificate signed by unknown authority$/);
  });

  it('can be trusted by its own certificate', async () => {
    const clientConfig = { ...bench.webhook.at('v'), caBundle: Buffer.from(bench.webhook.certificate).toString('base64') };
    await register(bench.server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig }]);
    expect((await bench.create()).code).toBe(201);
    expect(bench.webhook.questions).not.toEqual([]);
  });

  it.each(['/v', '/v/', 'v//w/'])('is called at %s without redundant slashes', async (path) => {
    await register(bench.server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: bench.webhook.at(path) }]);
    expect((await bench.create()).code).toBe(201);
    expect(bench.webhook.questions.at(-1)?.path).toBe(path === 'v//w/' ? '/v/w' : '/v');
  });

  it('does not block other requests', async () => {
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    bench.answer = () => {
      asked.resolve();
      return { wait: release.promise };
    };
    await register(bench.server, 'validating', 'hooks', [
      { name: 'v.test.io', clientConfig: bench.webhook.at('v'), failurePolicy: 'Ignore', timeoutSeconds: 30 },
    ]);
    const slow = bench.create();
    await asked.promise;
    const other = await bench.server.call('/api/v1/namespaces/default/configmaps', {
      method: 'POST',
      body: { metadata: { name: 'quick' } },
    });
    release.resolve();
    expect([other.code, (await slow).code]).toEqual([201, 201]);
  });
});

describe('a patch', () => {
  it.each([
    ['text that is not JSON', 'nope', /received undecodable patch in webhook response: invalid character/],
    ['an object instead of a list', '{}', /json: cannot unmarshal object into Go value of type jsonpatch\.Patch$/],
    ['a missing path', [{ op: 'replace', path: '/nope/x', value: 1 }], /doc is missing path: \/nope\/x: missing value$/],
    ['a failing test', [{ op: 'test', path: '/kind', value: 'x' }], /testing value \/kind failed: test failed$/],
    ['an unknown operation', [{ op: 'zap', path: '/x' }], /Unexpected kind: zap$/],
    ['a wrong type', [{ op: 'add', path: '/data', value: [1] }], /cannot unmarshal array into Go struct field ConfigMap\.data/],
    ['another kind', [{ op: 'replace', path: '/kind', value: 'Other' }], /no kind "Other" is registered for version "v1"/],
    ['a value that is not an object', [{ op: 'replace', path: '', value: [] }], /./],
  ])('with %s is a failure of the webhook', async (_, operations, message) => {
    bench.answer = () => ({ response: patch(operations) });
    await bench.mutating('m');
    const reply = await bench.create();
    expect(reply.code).toBe(500);
    expect(reply.json().message).toMatch(message);
  });

  it('may replace all of the largest object', async () => {
    const value = 'x'.repeat((3 << 20) - 2_000);
    bench.answer = () => ({ response: patch([{ op: 'replace', path: '/metadata/annotations/large', value }]) });
    await bench.mutating('m');
    // The webhook has been read to its end, and Kubernetes' limit of annotations applies.
    expect((await bench.create({ metadata: { annotations: { large: 'x' } } })).json().message).toContain(
      'metadata.annotations: Too long: may not be more than 262144 bytes',
    );
  });

  it('has its unknown fields dropped', async () => {
    bench.answer = () => ({ response: patch([{ op: 'add', path: '/bogus', value: 1 }]) });
    await bench.mutating('m');
    const reply = await bench.create();
    expect(reply.code).toBe(201);
    expect(reply.json()).not.toHaveProperty('bogus');
  });

  it('may contain keys that are special in JavaScript', async () => {
    bench.answer = () => ({ response: patch('[{"op":"add","path":"/data/__proto__","value":"x"}]') });
    await bench.mutating('m');
    const reply = await bench.create();
    expect(reply.text).toContain('"__proto__":"x"');
  });
});
