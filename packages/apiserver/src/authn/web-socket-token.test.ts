import { describe, expect, test } from 'vitest';
import { Unauthenticated } from './user.ts';
import { takeWebSocketToken } from './web-socket-token.ts';

const encoded = `base64url.bearer.authorization.k8s.io.${Buffer.from('töken').toString('base64url')}`;

describe('the token in the protocols of a WebSocket', () => {
  test('is taken out of them', () => {
    const headers = { 'sec-websocket-protocol': `${encoded}, v5.channel.k8s.io` };
    expect(takeWebSocketToken(headers)).toBe('Bearer töken');
    expect(headers['sec-websocket-protocol']).toBe('v5.channel.k8s.io');
  });

  test('is optional', () => {
    const headers = { 'sec-websocket-protocol': 'v5.channel.k8s.io' };
    expect([takeWebSocketToken(headers), takeWebSocketToken({})]).toEqual([undefined, undefined]);
    expect(headers['sec-websocket-protocol']).toBe('v5.channel.k8s.io');
  });

  test.each([
    ['twice', `${encoded},${encoded},v5.channel.k8s.io`],
    ['alone', encoded],
    ['empty', 'base64url.bearer.authorization.k8s.io.,v5.channel.k8s.io'],
    ['badly encoded', 'base64url.bearer.authorization.k8s.io.$$$,v5.channel.k8s.io'],
    ['padded', 'base64url.bearer.authorization.k8s.io.YQ==,v5.channel.k8s.io'],
  ])('is rejected if it is there %s, and removed all the same', (_how, offered) => {
    const headers = { 'sec-websocket-protocol': offered };
    expect(() => takeWebSocketToken(headers)).toThrow(Unauthenticated);
    expect(headers['sec-websocket-protocol']).not.toContain('bearer');
  });
});
