import { describe, expect, it } from 'vitest';
import { MemoryObjects } from '../authz/testing.ts';
import { bootstrapTokens } from './bootstrap-tokens.ts';

const secrets = { group: '', resource: 'secrets' };
const audiences = ['api'];
const now = Date.parse('2026-01-01T00:00:00Z');
const token = 'abcdef.0123456789abcdef';
const usual = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' };
const extra = { scope: ['root'] };

interface Change {
  readonly data?: Record<string, string>;
  readonly type?: string;
  readonly namespace?: string;
  readonly cluster?: string;
  readonly deletionTimestamp?: string;
}

function tokensWith({
  data = {},
  type = 'bootstrap.kubernetes.io/token',
  namespace = 'kube-system',
  cluster,
  deletionTimestamp,
}: Change = {}) {
  const encoded = Object.entries({ ...usual, ...data }).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const metadata = { name: 'bootstrap-token-abcdef', namespace, ...(deletionTimestamp !== undefined && { deletionTimestamp }) };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type, data: Object.fromEntries(encoded) };
  const objects = new MemoryObjects().put(secrets, secret, cluster);
  return bootstrapTokens({ objects, now: () => now, audiences, extra });
}

describe('a bootstrap token', () => {
  it('authenticates as its id, in the groups of its secret', () => {
    const user = { name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers', 'system:authenticated'], extra };
    expect(tokensWith().authenticateToken(token, audiences)).toEqual({ user, audiences });
    const data = { 'auth-extra-groups': 'system:bootstrappers:a,system:bootstrappers:b:c', expiration: '2026-01-01T00:00:01Z' };
    expect(tokensWith({ data }).authenticateToken(token, audiences)).toMatchObject({
      user: { groups: ['system:bootstrappers', 'system:bootstrappers:a', 'system:bootstrappers:b:c', 'system:authenticated'] },
    });
  });

  it('is the same user object for every request', async () => {
    const tokens = tokensWith();
    const [first, second] = [await tokens.authenticateToken(token, audiences), await tokens.authenticateToken(token, audiences)];
    expect(first!.user).toBe(second!.user);
  });

  it.each<[string, Change]>([
    ['another secret', { data: { 'token-secret': '0123456789abcdeg' } }],
    ['an empty secret', { data: { 'token-secret': '' } }],
    ['another id', { data: { 'token-id': 'abcdeg' } }],
    ['another usage', { data: { 'usage-bootstrap-authentication': 'false' } }],
    ['an expiration that is over', { data: { expiration: '2026-01-01T00:00:00Z' } }],
    ['an expiration that is no time', { data: { expiration: 'tomorrow' } }],
    ['a group of somebody else', { data: { 'auth-extra-groups': 'system:masters' } }],
    ['a group in which a forbidden one hides', { data: { 'auth-extra-groups': 'system:bootstrappers:a,system:masters' } }],
    ['another type', { type: 'Opaque' }],
    ['another namespace', { namespace: 'default' }],
    ['another workspace', { cluster: 'abcd' }],
    ['a deletion under way', { deletionTimestamp: '2025-12-31T23:59:59Z' }],
  ])('is unknown with %s', (_, change) => {
    expect(tokensWith(change).authenticateToken(token, audiences)).toBeUndefined();
  });

  it.each(['', 'abcdef', 'abcdef.', 'ABCDEF.0123456789abcdef', `${token}0`, `x${token}`, `${token}\n`])('is unknown as %j', (text) => {
    expect(tokensWith().authenticateToken(text, audiences)).toBeUndefined();
  });

  it('is for this server only', () => {
    expect(tokensWith().authenticateToken(token, ['vault'])).toBeUndefined();
  });
});
