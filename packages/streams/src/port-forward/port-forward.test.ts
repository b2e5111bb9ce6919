import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { SpdyConnection } from '../spdy/connection.ts';
import { joinConnection } from './join.ts';
import { type ForwardedConnection, PortForwardServer } from './pairs.ts';

function serve(onConnection: (connection: ForwardedConnection) => void, patience?: number): SpdyConnection {
  const [near, far] = duplexPair();
  const options = { onConnection, ...(patience !== undefined && { patience }) };
  new PortForwardServer((onStream) => new SpdyConnection(near, { role: 'server', onStream }), options);
  return new SpdyConnection(far, { role: 'client' });
}

const streams = (connection: SpdyConnection, headers: Record<string, string>) => ({
  error: connection.open({ ...headers, streamtype: 'error' }),
  data: connection.open({ ...headers, streamtype: 'data' }),
});

describe('a port-forward', () => {
  test('pairs streams by their request, and each connection reaches its port', async () => {
    const [port, program] = duplexPair();
    program.on('data', (data: Buffer) => void program.write(`80 says ${data.toString()}`)).on('end', () => program.end());
    const asked: number[] = [];
    const connection = serve((forwarded) => {
      asked.push(forwarded.port);
      void joinConnection(forwarded, () => Promise.resolve(port));
    });
    const { data, error } = streams(connection, { port: '80', requestid: '0' });
    data.end('hello');
    expect(await text(data)).toBe('80 says hello');
    expect(await text(error)).toBe('');
    expect(asked).toEqual([80]);
  });

  test('old clients send no id of the request', async () => {
    const [port, program] = duplexPair();
    program.end('hello');
    const connection = serve((forwarded) => void joinConnection(forwarded, () => Promise.resolve(port)));
    expect(await text(streams(connection, { port: '80' }).data)).toBe('hello');
  });

  test('a port that cannot be reached is reported on the error stream, and the others go on', async () => {
    const connection = serve((forwarded) => void joinConnection(forwarded, () => Promise.reject<Duplex>(new Error('connection refused'))));
    for (const requestid of ['0', '1']) {
      const { data, error } = streams(connection, { port: '81', requestid });
      expect(await text(error)).toBe('connection refused');
      expect(await text(data)).toBe('');
    }
  });

  test('a connection that its client drops is closed at the port', async () => {
    const [port, program] = duplexPair();
    const connection = serve((forwarded) => void joinConnection(forwarded, () => Promise.resolve(port)));
    const { data } = streams(connection, { port: '80', requestid: '0' });
    data.write('x');
    await once(program, 'data');
    data.destroy();
    await once(port, 'close');
  });

  test.each([{ port: '0' }, { port: '65536' }, { port: 'x' }])('refuses %o', async (headers) => {
    const connection = serve(() => expect.unreachable());
    await once(streams(connection, { ...headers, requestid: '0' }).data, 'error');
  });

  test('a stream without its counterpart is closed after a while', async () => {
    const connection = serve(() => expect.unreachable(), 10);
    await once(connection.open({ streamtype: 'data', port: '80', requestid: '0' }), 'close');
  });
});
