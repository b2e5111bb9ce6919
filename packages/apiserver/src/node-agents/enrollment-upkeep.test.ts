import type { NodeEnrollment } from '@capstan/api';
import { expect, test, vi } from 'vitest';
import { startTestServer } from '../testing/harness.ts';
import { isLongOver } from './enrollment-upkeep.ts';
import { createPlatform, fleetPath, invite } from './testing/fleet.ts';

const now = new Date('2026-01-10T00:00:00Z');
const key = 'a'.repeat(64);
test.each([
  ['is open', { expiresAt: '2026-01-11T00:00:00Z' }, {}, false],
  ['expired less than a day ago', { expiresAt: '2026-01-09T00:00:01Z' }, {}, false],
  ['expired a day ago', { expiresAt: '2026-01-09T00:00:00Z' }, {}, true],
  ['was used less than a day ago', { expiresAt: '2026-02-01T00:00:00Z' }, { key, usedAt: '2026-01-09T00:00:01Z' }, false],
  ['was used a day ago, before it expires', { expiresAt: '2026-02-01T00:00:00Z' }, { key, usedAt: '2026-01-09T00:00:00Z' }, true],
  [
    'was replayed less than a day ago',
    { expiresAt: '2026-01-05T00:00:00Z' },
    { key, usedAt: '2026-01-04T00:00:00Z', replay: { key, at: '2026-01-09T12:00:00Z' } },
    false,
  ],
])('an enrolment that %s is deleted or not', (_, spec, status, expected) => {
  const enrollment = { metadata: { name: 'e' }, spec: { node: 'n', secretHash: key, ...spec }, status } as NodeEnrollment;
  expect(isLongOver(enrollment, now)).toBe(expected);
});

test('a server deletes enrolments that are long over, and keeps the others', async () => {
  await using server = await startTestServer();
  await createPlatform(server);
  await invite(server, 'open');
  await invite(server, 'over', { expiresAt: '2020-01-01T00:00:00Z' });
  const names = async (): Promise<unknown> =>
    (await server.call(`${fleetPath}/nodeenrollments`)).json().items?.map(({ metadata }) => metadata.name);
  expect(await names()).toEqual(['join-open', 'join-over']);
  await server.restart();
  await vi.waitFor(async () => expect(await names()).toEqual(['join-open']), { timeout: 10_000, interval: 20 });
});
