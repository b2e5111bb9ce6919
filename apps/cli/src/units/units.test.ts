import { ApiError, type Client } from '@capstan/client';
import { describe, expect, test } from 'vitest';
import { Failure } from '../failure.ts';
import { onceServed, type Units } from './units.ts';

const refused = (code: number, details: object = {}): ApiError =>
  ApiError.of(
    code,
    JSON.stringify({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code,
      reason: { 403: 'Forbidden', 404: 'NotFound' }[code],
      details,
    }),
  );

/** Units of a workspace; `isServed` says whether they can be listed. */
function unitsAt(workspace: string, isServed: boolean): Units {
  const list = async (): Promise<object> => {
    if (!isServed) throw refused(404);
    return { items: [] };
  };
  const client = { connection: { server: `https://127.0.0.1:1/clusters/${workspace}` }, resource: () => ({ in: () => ({ list }) }) };
  return { client: client as unknown as Client } as Units;
}

describe('onceServed', () => {
  const quick = { pause: 1, patience: 10_000 };

  test.each([
    ['the kind is not there', refused(404), false],
    ['the offerings are not there', new Failure('usage', 'no units yet', refused(404)), true],
    ['nobody has a right to it', refused(403), false],
  ])('repeats a request while %s', async (_, error, isServed) => {
    let [tries, waits] = [0, 0];
    const request = async (): Promise<string> => {
      if (++tries < 3) throw error;
      return 'made';
    };
    expect(await onceServed(unitsAt('root:main:new', isServed), request, { ...quick, onWait: () => waits++ })).toBe('made');
    expect(waits).toBe(2);
  });

  test.each([
    ['it names an object', 'root:main:new', refused(404, { name: 'x', kind: 'gpuunits' }), true],
    ['the user has no right to it', 'root:main:new', refused(403), true],
    ['the workspace never has units', 'root', refused(404), false],
  ])('does not repeat it if %s', async (_, workspace, error, isServed) => {
    const onWait = (): never => {
      throw new Error('it waits');
    };
    await expect(onceServed(unitsAt(workspace, isServed), () => Promise.reject(error), { ...quick, onWait })).rejects.toBe(error);
  });
});
