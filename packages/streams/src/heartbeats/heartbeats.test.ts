import { type Duplex, duplexPair } from 'node:stream';
import { expect, test } from 'vitest';
import type { Heartbeat } from './messages.ts';
import { type AnswerHeartbeat, receiveHeartbeats } from './receiver.ts';
import { HeartbeatSender } from './sender.ts';

const beat: Heartbeat = { resourceVersion: '41', holder: 'run-1', seconds: 40, at: 1_700_000_000_123 };
const forever = new AbortController().signal;

/** Both ends of a stream. */
function connected() {
  const [agent, server] = duplexPair();
  for (const end of [agent, server]) end.on('error', () => {});
  const received: { readonly heartbeat: Heartbeat; readonly answer: AnswerHeartbeat }[] = [];
  const waiting: (() => void)[] = [];
  receiveHeartbeats(server, (heartbeat, answer) => {
    received.push({ heartbeat, answer });
    waiting.shift()?.();
  });
  const next = async (): Promise<(typeof received)[number]> => {
    if (received.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    return received.shift()!;
  };
  return { agent, server, sender: new HeartbeatSender(agent), next };
}

const closed = (stream: Duplex): Promise<void> => new Promise((resolve) => stream.once('close', resolve));

test('a heartbeat is answered with the version of the renewed Lease, or with none', async () => {
  const { sender, next } = connected();
  for (const version of ['42', undefined, '43']) {
    const sent = sender.send(beat, forever);
    expect(sender.isFree).toBe(false);
    const { heartbeat, answer } = await next();
    expect(heartbeat).toEqual(beat);
    answer(version);
    expect(await sent).toBe(version);
    expect(sender.isFree).toBe(true);
  }
});

test('a heartbeat that is answered too late keeps others from being sent until then', async () => {
  const { sender, next } = connected();
  const late = new AbortController();
  const sent = sender.send(beat, late.signal);
  const { answer } = await next();
  late.abort(new Error('too late'));
  await expect(sent).rejects.toThrow('too late');
  expect(sender.isFree).toBe(false);
  answer('42');
  await expect.poll(() => sender.isFree).toBe(true);
  const again = sender.send(beat, forever);
  (await next()).answer('44');
  expect(await again).toBe('44');
});

test('a heartbeat fails with its stream', async () => {
  const { agent, sender, next } = connected();
  const sent = sender.send(beat, forever);
  await next();
  agent.destroy();
  await expect(sent).rejects.toThrow('ended');
  expect(sender.isFree).toBe(false);
});

const line = (fields: object): string => `${JSON.stringify({ id: 1, ...beat, ...fields })}\n`;

test.each([
  ['no JSON', 'hello\n'],
  ['no object', '[]\n'],
  ['no version', line({ resourceVersion: '0' })],
  ['a version that is no number', line({ resourceVersion: '1e3' })],
  ['no holder', line({ holder: '' })],
  ['a Lease without an end', line({ seconds: 1e9 })],
  ['a time that is none', line({ at: 'now' })],
  ['a time that cannot be written', line({ at: 9e15 })],
  ['two at once', `${line({})}${line({})}`],
  ['a line without an end', 'x'.repeat(2_000)],
])('an agent that sends %s loses the stream', async (_what, text) => {
  const { agent, server } = connected();
  agent.write(text);
  await closed(server);
});

test('a server that answers what was not asked loses the stream', async () => {
  const { agent, server } = connected();
  server.write('{"id":7,"resourceVersion":"1"}\n');
  await closed(agent);
});
