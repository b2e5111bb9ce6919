import { expect, test } from 'vitest';
import { parametersIn } from './task-run.ts';

test('parameters are JSON, or else text', () => {
  expect(parametersIn(['script=greet', 'port=80', 'tls=true', 'files=["/a","/b"]', 'content=a=b', 'empty='])).toEqual({
    script: 'greet',
    port: 80,
    tls: true,
    files: ['/a', '/b'],
    content: 'a=b',
    empty: '',
  });
  expect(() => parametersIn(['script'])).toThrow('expected key=value, found "script"');
  expect(() => parametersIn(['=x'])).toThrow('expected key=value');
});
