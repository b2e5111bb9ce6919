import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TestClient } from '../testing/client.ts';
import { message } from '../wire/messages.ts';
import { messageOf, WireWriter } from '../wire/writer.ts';
import { largestData, ownWindow } from './channel.ts';
import { ForwardProhibited } from './connection.ts';
import type { SessionCommand, SessionStart } from './session.ts';

/** A session that notes everything, and ends when it is told to. */
function recorder(): {
  startSession: (start: SessionStart) => Promise<SessionCommand>;
  notes: string[];
  started: Promise<SessionStart>;
  exit: (code: number) => void;
} {
  const notes: string[] = [];
  const [started, exited] = [Promise.withResolvers<SessionStart>(), Promise.withResolvers<number>()];
  return {
    notes,
    started: started.promise,
    exit: (code) => exited.resolve(code),
    startSession: (start) => {
      started.resolve(start);
      return Promise.resolve({
        exited: exited.promise,
        resize: ({ columns, rows }) => void notes.push(`size ${columns}x${rows}`),
        signal: (name) => void notes.push(`signal ${name}`),
        close: () => void notes.push('close'),
      });
    },
  };
}

const size = (columns: number, rows: number): WireWriter => new WireWriter().uint32(columns).uint32(rows).uint32(0).uint32(0);
const text = (...values: string[]): WireWriter => values.reduce((writer, value) => writer.string(value), new WireWriter());
const target = (host: string, port: number): Buffer =>
  new WireWriter().string(host).uint32(port).string('127.0.0.1').uint32(50_000).finish();

describe('a session', () => {
  test('has a terminal, variables, input, both outputs and an exit code', async () => {
    const session = recorder();
    const client = await TestClient.connected(session);
    const channel = await client.open('session', { own: 7 });
    const terminal = new WireWriter().string('xterm').bytes(size(80, 24).finish()).string('');
    expect(await client.request(channel, 'pty-req', terminal)).toBe(true);
    expect(await client.request(channel, 'env', text('LANG', 'C.UTF-8'))).toBe(true);
    for (const name of ['', 'A B', '1A', 'A=B', 'A\n']) expect(await client.request(channel, 'env', text(name, 'x'))).toBe(false);
    expect(await client.request(channel, 'env', text('A', 'x\0y'))).toBe(false);
    for (const type of ['x11-req', 'auth-agent-req@openssh.com', 'unknown']) expect(await client.request(channel, type)).toBe(false);
    expect(await client.request(channel, 'exec', text('some command'))).toBe(true);
    const start = await session.started;
    expect(start).toMatchObject({ program: { kind: 'exec', command: 'some command' }, terminal: { type: 'xterm', columns: 80, rows: 24 } });
    expect([...start.environment]).toEqual([['LANG', 'C.UTF-8']]);
    expect(await client.request(channel, 'shell')).toBe(false);
    expect(await client.request(channel, 'window-change', size(100, 30))).toBe(true);
    expect(await client.request(channel, 'signal', text('TERM'))).toBe(true);
    expect(await client.request(channel, 'signal', text('TERM; rm'))).toBe(false);
    expect(session.notes).toEqual(['size 100x30', 'signal TERM']);
    client.sendData(channel, 'typed');
    expect(String(await once(start.input, 'data').then(([chunk]) => chunk as Buffer))).toBe('typed');
    client.send(messageOf(message.channelEof).uint32(channel).finish());
    await once(start.input, 'end');
    start.errors.write('warning');
    start.output.write('result');
    session.exit(3);
    const errors = await client.expect(message.channelExtendedData);
    expect([errors.uint32(), errors.uint32(), errors.text()]).toEqual([7, 1, 'warning']);
    const output = await client.expect(message.channelData);
    expect([output.uint32(), output.text()]).toEqual([7, 'result']);
    await client.expect(message.channelEof);
    const status = await client.expect(message.channelRequest);
    expect([status.uint32(), status.text(), status.boolean(), status.uint32()]).toEqual([7, 'exit-status', false, 3]);
    await client.expect(message.channelClose);
  });

  test('that could not begin says why, and fails as with OpenSSH', async () => {
    const client = await TestClient.connected({ startSession: () => Promise.reject(new Error('you may not')) });
    const channel = await client.open('session');
    expect(await client.request(channel, 'subsystem', text('sftp'))).toBe(true);
    const errors = await client.expect(message.channelExtendedData);
    errors.bytes(8);
    expect(errors.text()).toBe('you may not\n');
    await client.expect(message.channelEof);
    const status = await client.expect(message.channelRequest);
    expect([status.uint32(), status.text(), status.boolean(), status.uint32()]).toEqual([0, 'exit-status', false, 255]);
  });

  test.each(['close', 'leave'])('is closed when the client does (%s)', async (how) => {
    const session = recorder();
    const client = await TestClient.connected(session);
    const channel = await client.open('session');
    await client.request(channel, 'shell');
    if (how === 'leave') client.stream.end();
    else client.send(messageOf(message.channelClose).uint32(channel).finish());
    await expect.poll(() => session.notes).toEqual(['close']);
    // Its number is free again.
    if (how === 'close') await client.expect(message.channelClose);
    if (how === 'close') expect(await client.open('session')).toBe(channel);
  });

  test('limits the variables', async () => {
    const client = await TestClient.connected(recorder());
    const channel = await client.open('session');
    expect(await client.request(channel, 'env', text('A', 'x'.repeat(60_000)))).toBe(true);
    expect(await client.request(channel, 'env', text('B', 'x'.repeat(10_000)))).toBe(false);
  });
});

describe('windows', () => {
  test('output stops at the window of the client, in messages that it accepts', async () => {
    const session = recorder();
    const client = await TestClient.connected(session);
    const channel = await client.open('session', { window: 1000, largest: 400 });
    await client.request(channel, 'shell');
    (await session.started).output.write(Buffer.alloc(2500));
    session.exit(0);
    const lengths = async (count: number): Promise<number[]> => {
      const seen: number[] = [];
      while (seen.length < count) {
        const data = await client.expect(message.channelData);
        data.uint32();
        seen.push(data.string().length);
      }
      return seen;
    };
    expect(await lengths(3)).toEqual([400, 400, 200]);
    client.send(messageOf(message.globalRequest).string('nothing else came').boolean(true).finish());
    await client.expect(message.requestFailure);
    client.send(messageOf(message.channelWindowAdjust).uint32(channel).uint32(5000).finish());
    expect(await lengths(4)).toEqual([400, 400, 400, 300]);
    await client.expect(message.channelEof);
  });

  test('input is granted as far as it was read, for readers of all kinds', async () => {
    const session = recorder();
    const client = await TestClient.connected(session);
    const channel = await client.open('session');
    await client.request(channel, 'shell');
    const { input } = await session.started;
    for (let sent = 0; sent < ownWindow; sent += largestData) client.sendData(channel, Buffer.alloc(largestData));
    let read = 0;
    const reading = (async () => {
      for await (const chunk of input.iterator({ destroyOnReturn: false })) read += (chunk as Buffer).length;
    })();
    let granted = 0;
    while (granted < ownWindow - 256 * 1024) {
      const adjust = await client.expect(message.channelWindowAdjust);
      adjust.uint32();
      granted += adjust.uint32();
    }
    expect(granted).toBeLessThanOrEqual(ownWindow);
    client.send(messageOf(message.channelEof).uint32(channel).finish());
    await reading;
    expect(read).toBe(ownWindow);
  });

  test.each([
    [
      'more than the window',
      (client: TestClient, channel: number) => {
        for (let sent = 0; sent <= ownWindow; sent += largestData) client.sendData(channel, Buffer.alloc(largestData));
      },
      'sent more than the window',
    ],
    [
      'data after the end',
      (client: TestClient, channel: number) => {
        client.send(messageOf(message.channelEof).uint32(channel).finish());
        client.sendData(channel, 'x');
      },
      'data after the end',
    ],
    [
      'a window of more than 2^32 bytes',
      (client: TestClient, channel: number) => {
        client.send(messageOf(message.channelWindowAdjust).uint32(channel).uint32(0xffffffff).finish());
      },
      'larger than 2^32',
    ],
    [
      'data of another kind',
      (client: TestClient, channel: number) => {
        client.send(messageOf(message.channelExtendedData).uint32(channel).uint32(1).string('x').finish());
      },
      'no second output',
    ],
    ['data for another channel', (client: TestClient, channel: number) => client.sendData(channel + 1, 'x'), 'there is no channel'],
  ])('%s ends the session', async (_title, misbehave, reason) => {
    const client = await TestClient.connected(recorder());
    misbehave(client, await client.open('session'));
    expect(await client.disconnected()).toContain(reason);
  });
});

describe('a forward', () => {
  test('joins both ends until both have ended', async () => {
    const [far, program] = duplexPair();
    const client = await TestClient.connected({ connect: () => Promise.resolve(far) });
    const channel = await client.open('direct-tcpip', { extra: target('localhost', 80) });
    client.sendData(channel, 'question');
    expect(String(await once(program, 'data').then(([chunk]) => chunk as Buffer))).toBe('question');
    client.send(messageOf(message.channelEof).uint32(channel).finish());
    await once(program, 'end');
    program.end('answer');
    const data = await client.expect(message.channelData);
    data.uint32();
    expect(data.text()).toBe('answer');
    await client.expect(message.channelEof);
    await client.expect(message.channelClose);
  });

  test.each([
    [new ForwardProhibited('only localhost'), 1],
    [new Error('refused'), 2],
  ])('that fails tells why: %s', async (error, code) => {
    const client = await TestClient.connected({ connect: () => Promise.reject(error) });
    client.send(messageOf(message.channelOpen).string('direct-tcpip').uint32(4).uint32(1000).uint32(1000).bytes(target('x', 1)).finish());
    const failure = await client.expect(message.channelOpenFailure);
    expect([failure.uint32(), failure.uint32(), failure.text()]).toEqual([4, code, error.message]);
  });

  test('is destroyed if the client has left meanwhile', async () => {
    const [far] = duplexPair();
    const connecting = Promise.withResolvers<typeof far>();
    const client = await TestClient.connected({ connect: () => connecting.promise });
    client.send(messageOf(message.channelOpen).string('direct-tcpip').uint32(4).uint32(1000).uint32(1000).bytes(target('x', 1)).finish());
    client.stream.end();
    await client.ended;
    connecting.resolve(far);
    await expect.poll(() => far.destroyed).toBe(true);
  });
});

describe('a connection', () => {
  test('has a limit of channels, and no other types of them', async () => {
    const client = await TestClient.connected(recorder());
    client.send(messageOf(message.channelOpen).string('x11').uint32(0).uint32(1).uint32(1).finish());
    const unknown = await client.expect(message.channelOpenFailure);
    expect([unknown.uint32(), unknown.uint32()]).toEqual([0, 3]);
    for (let count = 0; count < 256; count++) await client.open('session');
    client.send(messageOf(message.channelOpen).string('session').uint32(0).uint32(1).uint32(1).finish());
    const full = await client.expect(message.channelOpenFailure);
    expect([full.uint32(), full.uint32()]).toEqual([0, 4]);
  });

  test('does not listen for clients, and answers unknown messages', async () => {
    const client = await TestClient.connected();
    client.send(messageOf(message.globalRequest).string('tcpip-forward').boolean(true).string('').uint32(80).finish());
    await client.expect(message.requestFailure);
    client.send(messageOf(192).string('ping').finish());
    // After the new keys: the service, the authentication and the request.
    expect((await client.expect(message.unimplemented)).uint32()).toBe(3);
  });

  test('opens nothing before authentication, which needs no secret', async () => {
    const early = new TestClient();
    early.sendVersion();
    await early.exchange();
    early.send(messageOf(message.channelOpen).string('session').uint32(0).uint32(1).uint32(1).finish());
    expect(await early.disconnected()).toContain('before authentication');
    const client = new TestClient();
    client.sendVersion();
    await client.exchange();
    client.send(messageOf(message.serviceRequest).string('ssh-userauth').finish());
    await client.expect(message.serviceAccept);
    client.send(messageOf(message.authenticationRequest).string('me').string('ssh-connection').string('password').finish());
    expect((await client.expect(message.authenticationFailure)).names()).toEqual(['none']);
    client.send(messageOf(message.serviceRequest).string('other').finish());
    expect(await client.disconnected()).toContain('there is no service "other"');
  });

  test('survives any message, or ends with a reason', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 255 }), fc.uint8Array({ maxLength: 40 })), { maxLength: 8 }),
        async (messages) => {
          const session = recorder();
          const client = await TestClient.connected({ startSession: session.startSession, connect: () => Promise.reject(new Error('no')) });
          const channel = await client.open('session');
          client.sendData(channel, 'x');
          for (const [number, bytes] of messages) client.send(Buffer.concat([Buffer.from([number]), bytes]));
          client.stream.end();
          const error = await client.ended;
          expect(error === undefined || error.name === 'SshError').toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });
});
