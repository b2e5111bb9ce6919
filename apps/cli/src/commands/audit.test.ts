import { expect, test } from 'vitest';
import { tableOf, timeOf } from './audit.ts';

const event = {
  auditID: '1',
  stage: 'ResponseComplete',
  requestURI: '/api/v1/namespaces/shop/pods',
  verb: 'delete',
  user: { username: 'jane' },
  objectRef: { resource: 'pods', namespace: 'shop', name: 'web' },
  responseStatus: { code: 200 },
  stageTimestamp: '2026-01-02T03:04:05.678901Z',
  annotations: { 'tenancy.kcp.io/workspace': '2x1t' },
};

test('prints events as a table, oldest first', () => {
  const later = {
    ...event,
    verb: 'patch',
    impersonatedUser: { username: 'joe' },
    objectRef: { resource: 'deployments', apiGroup: 'apps', subresource: 'scale', namespace: 'shop', name: 'api' },
    responseStatus: { code: 403 },
    annotations: { 'capstan.dev/repeated': '7' },
  };
  expect(tableOf([later, event], true)).toEqual([
    'TIME                   USER            VERB     OBJECT                            CODE            WORKSPACE',
    '2026-01-02T03:04:05Z   jane            delete   pods shop/web                     200             2x1t',
    '2026-01-02T03:04:05Z   joe (by jane)   patch    deployments.apps/scale shop/api   403 (7 times)',
  ]);
});

test('prints nothing that controls the terminal', () => {
  const [, line] = tableOf([{ ...event, user: { username: '\u001b[2Jjane\n\u202e' } }], false);
  expect(line).toContain('�[2Jjane��');
});

test.each([
  ['90m', '2026-01-01T22:30:00.000Z'],
  ['2d', '2025-12-31T00:00:00.000Z'],
  ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
])('%s ago is %s', (text, expected) => {
  expect(timeOf(text, new Date('2026-01-02T00:00:00Z'))).toBe(expected);
});
