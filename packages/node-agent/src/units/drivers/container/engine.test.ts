import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { Engine } from './engine.ts';

test('the last output of a command is read also if input was sent after its end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-engine-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const server = createServer().listen(join(folder, 'socket'));
  onTestFinished(() => void server.close());
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const hijacking = new Engine(join(folder, 'socket')).hijack({ method: 'POST', path: '/exec/1/start', body: {} });
  const [command] = await accepted;
  await once(command, 'data');
  command.write('HTTP/1.1 101 UPGRADED\r\nconnection: Upgrade\r\nupgrade: tcp\r\n\r\n');
  const socket = await hijacking;

  command.end('last words');
  command.destroySoon();
  await once(command, 'close');
  await new Promise((resolve) => void socket.write('more input', resolve));
  expect(await text(socket)).toBe('last words');
});
