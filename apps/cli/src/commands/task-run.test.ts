import { expect, test } from 'vitest';
import { parametersIn, runTask } from './task-run.ts';

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

test.each([
  [undefined, 'found none'],
  ['dance', 'found "dance"'],
])('the type %s is answered with the list of types', async (type, found) => {
  await expect(runTask('gpu-1', type, {})).rejects.toThrow(/one of file\.write, .*gpu\.inspect.*kubectl explain/);
  await expect(runTask('gpu-1', type, {})).rejects.toThrow(found);
});
