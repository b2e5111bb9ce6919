import { whole } from '@capstan/machinery';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { patchProblems } from './patch-problems.ts';

const path = '/api/v1/namespaces/default/configmaps/c';
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  await server.call('/api/v1/namespaces/default/configmaps', { method: 'POST', body: { metadata: { name: 'c' }, data: { a: 'b' } } });
});

afterAll(() => server[Symbol.asyncDispose]());

interface Answer {
  readonly code: number;
  readonly message: string | undefined;
  readonly warnings: string | string[] | undefined;
}

const patch = async (kind: string, body: string, validation: string): Promise<Answer> => {
  const headers = { 'content-type': `application/${kind}+json` };
  const reply = await server.call(`${path}?dryRun=All&fieldValidation=${validation}`, { method: 'PATCH', headers, body });
  return { code: reply.code, message: reply.json().message, warnings: reply.headers['warning'] };
};

const twice = '{"metadata":{"labels":{"a":"1","a":"2"}}}';
const oddOperations = '[{"op":"add","op":"add","path":"/metadata/labels","value":{"a":"1"},"foo":1}]';

it.each(['merge-patch', 'strategic-merge-patch'])('reports duplicate fields of a %s', async (kind) => {
  expect(await patch(kind, twice, 'Warn')).toMatchObject({ code: 200, warnings: '299 - "duplicate field \\"metadata.labels.a\\""' });
  const strict = await patch(kind, twice, 'Strict');
  expect(strict.code).toBe(422);
  expect(strict.message).toMatch(/": strict decoding error: duplicate field "metadata\.labels\.a"$/);
  expect(await patch(kind, twice, 'Ignore')).toMatchObject({ code: 200, warnings: undefined });
});

it('reports unknown and duplicate fields of JSON patch operations', async () => {
  const found = '299 - "json patch duplicate field \\"[0].op\\"", 299 - "json patch unknown field \\"[0].foo\\""';
  expect(await patch('json-patch', oddOperations, 'Warn')).toMatchObject({ code: 200, warnings: found });
  const strict = await patch('json-patch', oddOperations, 'Strict');
  expect(strict.message).toMatch(/strict decoding error: json patch duplicate field "\[0\]\.op", json patch unknown field "\[0\]\.foo"$/);
});

it.each(['merge-patch', 'strategic-merge-patch'])('reports unknown fields of a %s sorted by name', async (kind) => {
  const { warnings } = await patch(kind, '{"metadata":{"bogus":1},"bogus":1}', 'Warn');
  expect(warnings).toBe('299 - "unknown field \\"bogus\\"", 299 - "unknown field \\"metadata.bogus\\""');
});

it('reports every field of an object without a version as unknown', async () => {
  const answer = await patch('json-patch', '[{"op":"remove","path":"/apiVersion"}]', 'Warn');
  expect(answer.code).toBe(400);
  expect(answer.message).toBe('the name of the object (c based on URL) was undeterminable: name must be provided');
  expect(answer.warnings).toBe('299 - "unknown field \\"data\\"", 299 - "unknown field \\"metadata\\""');
});

it('reports problems of operations in their order', () => {
  const operations = '[{"op":"add","path":"/a","value":1,"foo":2},{"op":"add","path":"/b","path":"/c","value":1},{"op":"test","bar":1}]';
  expect(whole(patchProblems('json', operations))).toEqual([
    'json patch unknown field "[0].foo"',
    'json patch duplicate field "[1].path"',
    'json patch unknown field "[2].bar"',
  ]);
});

it('looks for problems of long patches in parts', () => {
  const operations = JSON.stringify(Array.from({ length: 10_000 }, (_, index) => ({ op: 'add', path: `/data/key-${index}`, value: 'x' })));
  const parts = patchProblems('json', operations);
  for (let part = 0; part < 40; part++) expect(parts.next().done).toBe(false);
  expect(whole(patchProblems('json', operations))).toEqual([]);
});
