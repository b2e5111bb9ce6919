import type { AuditEvent } from '@capstan/api';
import { expect, test } from 'vitest';
import { auditQuery, missingServers, noFilter, onWhat, toneOf, whoDid } from './audit.ts';

const event = (fields: object): AuditEvent => ({
  auditID: '1',
  stage: '',
  requestURI: '/healthz',
  verb: 'get',
  user: { username: 'jane' },
  stageTimestamp: '',
  ...fields,
});

test('empty fields are no part of the query, and times are those of the reader', () => {
  expect(auditQuery({ ...noFilter, user: ' jane ', code: '403' }, '')).toBe('/capstan/audit?limit=100&user=jane&code=403');
  const since = new Date(2026, 10, 16, 9, 30).toISOString();
  expect(new URL(auditQuery({ ...noFilter, since: '2026-11-16T09:30' }, ''), 'http://x').searchParams.get('since')).toBe(since);
  expect(auditQuery(noFilter, 'next')).toBe('/capstan/audit?limit=100&continue=next');
});

test('names both people if one acted as another', () => {
  expect(whoDid(event({}))).toBe('jane');
  expect(whoDid(event({ impersonatedUser: { username: 'joe' } }))).toBe('joe (by jane)');
});

test('names the object, or the path of a request without one', () => {
  expect(onWhat(event({ objectRef: { resource: 'pods', subresource: 'exec', namespace: 'default', name: 'train' } }))).toBe(
    'pods/exec default/train',
  );
  expect(onWhat(event({}))).toBe('/healthz');
});

test('names each server that did not answer once', () => {
  expect(missingServers([{ missingServers: ['s1'] }, {}, { missingServers: ['s1', 's2'] }])).toEqual(['s1', 's2']);
});

test('refusals stand out', () => expect([200, 403, 500, undefined].map(toneOf)).toEqual(['good', 'warn', 'bad', 'idle']));
