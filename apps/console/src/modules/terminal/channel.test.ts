import { expect, test } from 'vitest';
import { inputFrame, receive, sizeFrame } from './channel.ts';

const message = (channel: number, text: string): ArrayBuffer => new Uint8Array([channel, ...new TextEncoder().encode(text)]).buffer;

test('input and sizes have their channels', () => {
  expect([...inputFrame('a')]).toEqual([0, 97]);
  expect(sizeFrame({ columns: 80, rows: 24 })[0]).toBe(4);
  expect(new TextDecoder().decode(sizeFrame({ columns: 80, rows: 24 }).subarray(1))).toBe('{"Width":80,"Height":24}');
});

test('both outputs are output', () => {
  for (const channel of [1, 2]) expect(receive(message(channel, 'hi'))).toEqual({ type: 'output', bytes: new TextEncoder().encode('hi') });
});

test('the end says how it was', () => {
  expect(receive(message(3, '{"status":"Success"}'))).toEqual({ type: 'end', message: 'The shell has ended.' });
  expect(receive(message(3, '{"status":"Failure","message":"exit code 2"}'))).toEqual({ type: 'end', message: 'exit code 2' });
});

test('empty messages and unknown channels are nothing', () => {
  expect(receive(new Uint8Array([1]).buffer)).toEqual({ type: 'none' });
  expect(receive(message(9, 'x'))).toEqual({ type: 'none' });
});
