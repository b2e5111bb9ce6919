import { expect, test } from 'vitest';
import { endOfInput, inputFrame, receive, sizeFrame } from './channel.ts';

const message = (channel: number, text: string): ArrayBuffer => new Uint8Array([channel, ...new TextEncoder().encode(text)]).buffer;

test('input and sizes have their channels', () => {
  expect([...inputFrame('a')]).toEqual([0, 97]);
  expect([...inputFrame(Uint8Array.of(7, 8))]).toEqual([0, 7, 8]);
  expect([...endOfInput()]).toEqual([255, 0]);
  expect(sizeFrame({ columns: 80, rows: 24 })[0]).toBe(4);
  expect(new TextDecoder().decode(sizeFrame({ columns: 80, rows: 24 }).subarray(1))).toBe('{"Width":80,"Height":24}');
});

test('output has its stream', () => {
  const bytes = new TextEncoder().encode('hi');
  expect(receive(message(1, 'hi'))).toEqual({ type: 'stdout', bytes });
  expect(receive(message(2, 'hi'))).toEqual({ type: 'stderr', bytes });
});

test('the end says how it was', () => {
  expect(receive(message(3, '{"status":"Success"}'))).toEqual({ type: 'end', isSuccess: true });
  expect(receive(message(3, '{"status":"Failure","message":"exit code 2"}'))).toEqual({
    type: 'end',
    isSuccess: false,
    message: 'exit code 2',
  });
  expect(receive(message(3, 'not JSON'))).toEqual({ type: 'end', isSuccess: false, message: 'not JSON' });
});

test('empty messages and unknown channels are nothing', () => {
  expect(receive(new Uint8Array([1]).buffer)).toEqual({ type: 'none' });
  expect(receive(message(9, 'x'))).toEqual({ type: 'none' });
});
