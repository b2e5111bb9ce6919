import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AgentConnections } from './connections.ts';
import type { AgentCertificate, NodeIdentities } from './identities.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

class Socket extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** Nodes that are accepted, as a cache knows them. */
function fleet() {
  const state = { generation: 1, refused: new Set<string>(), asked: 0, time: 0, changed: (_nodes: ReadonlySet<string>): void => {} };
  const identities = {
    get generation() {
      return state.generation;
    },
    problem: ({ node }: AgentCertificate) => {
      state.asked++;
      return state.refused.has(node) ? 'locked' : undefined;
    },
    onChange: (listener: typeof state.changed) => void (state.changed = listener),
  } as unknown as NodeIdentities;
  const connections = new AgentConnections({ identities, now: () => state.time });
  const connect = (node: string, notAfter = 100_000): Socket => {
    const socket = new Socket();
    connections.add({ node, uid: node, key: 'k', generation: 1, notAfter }, socket as unknown as TLSSocket);
    return socket;
  };
  const pass = (milliseconds: number): void => {
    state.time += milliseconds;
    vi.advanceTimersByTime(milliseconds);
  };
  return { state, connections, connect, pass };
}

test('the connections of a node end when it changes', () => {
  const { state, connections, connect } = fleet();
  const [removed, other] = [connect('a'), connect('b')];
  state.refused.add('a');
  state.changed(new Set(['a']));
  expect([removed.destroyed, other.destroyed, connections.count]).toEqual([true, false, 1]);
});

test('a change that the cache missed is noticed within a second of its next state', () => {
  const { state, connect, pass } = fleet();
  const socket = connect('a');
  pass(2_000);
  state.refused.add('a');
  state.generation++;
  pass(1_000);
  expect(socket.destroyed).toBe(true);
});

test('connections end with their certificates, within a second', () => {
  const { connections, connect, pass } = fleet();
  const [early, late] = [connect('a', 30_000), connect('a', 60_000)];
  pass(30_000);
  expect(early.destroyed).toBe(false);
  pass(1_000);
  expect([early.destroyed, late.destroyed]).toEqual([true, false]);
  pass(31_000);
  expect([late.destroyed, connections.count]).toEqual([true, 0]);
});

test('idle agents are not looked at while nothing changes', () => {
  const { state, connect, pass } = fleet();
  for (let number = 0; number < 10; number++) connect(`n${number}`);
  pass(2_000);
  const { asked } = state;
  pass(60_000);
  expect(state.asked).toBe(asked);
});
