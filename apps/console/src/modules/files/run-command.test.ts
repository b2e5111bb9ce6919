import { expect, test } from 'vitest';
import { type CommandSocket, runCommand } from './run-command.ts';
import { mostUploaded, sizeProblem, writeFile } from './transfers.ts';

const place = { workspace: 'root:main:default', namespace: 'default', pod: 'train', container: 'unit' };

class FakeSocket {
  readonly sent: Uint8Array[] = [];
  readyState = 1;
  bufferedAmount = 0;
  onopen: (() => void) | null = null;
  onclose: ((event: { reason: string }) => void) | null = null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
  isClosed = false;

  send(bytes: Uint8Array): void {
    this.sent.push(bytes);
  }

  close(): void {
    this.isClosed = true;
    this.readyState = 3;
  }

  receive(channel: number, text: string): void {
    this.onmessage?.({ data: Uint8Array.of(channel, ...new TextEncoder().encode(text)).buffer });
  }
}

function begin(options: { readonly input?: Blob; readonly mostOutput?: number; readonly signal?: AbortSignal } = {}) {
  const socket = new FakeSocket();
  const open = (): CommandSocket => socket as unknown as CommandSocket;
  const result = runCommand(place, { command: ['cat'], mostOutput: 100, open, ...options });
  result.catch(() => {});
  socket.onopen?.();
  return { socket, result };
}

test('resolves with the output of a command that ended well', async () => {
  const { socket, result } = begin();
  socket.receive(1, 'one ');
  socket.receive(2, 'a warning');
  socket.receive(1, 'two');
  socket.receive(3, '{"status":"Success"}');
  expect(await (await result).text()).toBe('one two');
  expect(socket.isClosed).toBe(true);
});

test('rejects with the words of the command, then of the server', async () => {
  const failure = '{"status":"Failure","message":"command terminated with exit code 1"}';
  const one = begin();
  one.socket.receive(2, 'cat: x: No such file\n');
  one.socket.receive(3, failure);
  await expect(one.result).rejects.toThrow('cat: x: No such file');
  const other = begin();
  other.socket.receive(3, failure);
  await expect(other.result).rejects.toThrow('exit code 1');
});

test('ends a command that writes too much, loses its connection or is cancelled', async () => {
  const large = begin({ mostOutput: 3 });
  large.socket.receive(1, 'four');
  await expect(large.result).rejects.toThrow('larger than a page can take');
  expect(large.socket.isClosed).toBe(true);
  const lost = begin();
  lost.socket.onclose?.({ reason: '' });
  await expect(lost.result).rejects.toThrow('connection to the unit is lost');
  const stop = new AbortController();
  const cancelled = begin({ signal: stop.signal });
  stop.abort();
  await expect(cancelled.result).rejects.toThrow('cancelled');
  expect(cancelled.socket.isClosed).toBe(true);
});

test('sends the input in pieces, and its end', async () => {
  const { socket, result } = begin({ input: new Blob([new Uint8Array(600 << 10).fill(7)]) });
  await expect.poll(() => socket.sent.at(-1)?.[0]).toBe(255);
  expect(socket.sent.slice(0, -1).map((frame) => frame.length - 1)).toEqual([256 << 10, 256 << 10, 88 << 10]);
  socket.receive(3, '{"status":"Success"}');
  await result;
});

test('says where files go that are too large for a page', async () => {
  expect(sizeProblem(1000)).toBeUndefined();
  expect(sizeProblem(2 ** 40)).toBe('It has 1 TiB, and a page downloads at most 256 MiB. Use capstan cp for larger files.');
  const file = { size: mostUploaded + 1 } as Blob;
  await expect(writeFile(place, '/x', { file })).rejects.toThrow('uploads at most 1 GiB. Use capstan cp');
});
