import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addData, Bench, register } from './testing.ts';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.start();
});

afterAll(() => bench[Symbol.asyncDispose]());

describe('the audit log', () => {
  it('records the effects of admission on a request', async () => {
    bench.answer = ({ path }) => {
      if (path === '/broken') return undefined;
      const { response } = addData('x') as { response: Record<string, string> };
      return { response: { ...(path === '/adds' ? response : { allowed: true }), auditAnnotations: { why: path } } };
    };
    await register(bench.server, 'mutating', 'config', [
      { name: 'adds.test.io', clientConfig: bench.webhook.at('adds') },
      { name: 'broken.test.io', clientConfig: bench.webhook.at('broken'), failurePolicy: 'Ignore' },
    ]);
    await register(bench.server, 'validating', 'config', [{ name: 'sees.test.io', clientConfig: bench.webhook.at('sees') }]);
    await bench.create({ metadata: { name: 'audited' } });
    // Pending events are written when the server stops.
    await bench.server.restart();
    const lines = (await readFile(join(bench.server.directory, 'audit.log'), 'utf8')).trim().split('\n');
    const events = lines.map((line) => JSON.parse(line) as { objectRef?: { name?: string }; annotations?: Record<string, string> });
    const event = events.find(({ annotations }) => annotations?.['adds.test.io/why'] !== undefined);
    expect(event?.annotations).toMatchObject({
      'adds.test.io/why': '/adds',
      'sees.test.io/why': '/sees',
      'mutation.webhook.admission.k8s.io/round_0_index_0': '{"configuration":"config","webhook":"adds.test.io","mutated":true}',
      'mutation.webhook.admission.k8s.io/round_0_index_1': '{"configuration":"config","webhook":"broken.test.io","mutated":false}',
      'failed-open.mutation.webhook.admission.k8s.io/round_0_index_1': 'broken.test.io',
    });
  });
});
