import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { readBounded } from './bounded.ts';

async function answerOf(text: string): Promise<{ incoming: IncomingMessage; [Symbol.asyncDispose](): Promise<void> }> {
  const server = createServer((_request, response) => response.end(text)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const [incoming] = (await once(get({ port: (server.address() as AddressInfo).port }), 'response')) as [IncomingMessage];
  return {
    incoming,
    [Symbol.asyncDispose]: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

describe('a response', () => {
  it('is read up to its limit', async () => {
    await using answer = await answerOf('é'.repeat(50_000));
    expect((await readBounded(answer.incoming, 100_000)).toString()).toBe('é'.repeat(50_000));
  });

  it('is cut off beyond it', async () => {
    await using answer = await answerOf('x'.repeat(100_001));
    await expect(readBounded(answer.incoming, 100_000, 'what the issuer said')).rejects.toThrow(
      'what the issuer said is larger than 100000 bytes',
    );
    expect(answer.incoming.destroyed).toBe(true);
  });
});
