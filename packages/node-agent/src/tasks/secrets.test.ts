import type { Client } from '@capstan/client';
import { ApiError } from '@capstan/client';
import { describe, expect, test } from 'vitest';
import { replaceSecrets, revealing, StoredSecrets } from './secrets.ts';

const values = { token: 's3cret', 'tls.key': '${secret:token}' };

describe('placeholders', () => {
  test.each([
    ['token=${secret:token};', 'token=s3cret;'],
    ['${secret:token}${secret:token}', 's3crets3cret'],
    ['$${secret:token}', '${secret:token}'],
    ['$$${secret:token}', '$${secret:token}'],
    ['${HOME} $HOME ${secret:} ${fact:x}', '${HOME} $HOME ${secret:} ${fact:x}'],
    // A value is not looked at again.
    ['${secret:tls.key}', '${secret:token}'],
  ])('%s becomes %s', (text, expected) => expect(replaceSecrets(text, 's', values)).toBe(expected));

  test('name the key that the Secret does not have', () => {
    for (const key of ['other', 'constructor'])
      expect(() => replaceSecrets(`\${secret:${key}}`, 's', values)).toThrow(
        expect.objectContaining({ code: 'InvalidParameters', message: `the Secret s has no key ${key}` }),
      );
  });
});

describe('a task', () => {
  test('without a Secret keeps its text', async () => {
    const reveal = revealing(undefined, () => expect.fail());
    expect(await reveal('$${ ${secret:token}')).toBe('$${ ${secret:token}');
  });

  test('reads its Secret once, and only if it is needed', async () => {
    let reads = 0;
    const reveal = revealing('s', async () => {
      reads++;
      return values;
    });
    expect(await reveal(undefined)).toBeUndefined();
    expect(await reveal(['plain', '$HOME'])).toEqual(['plain', '$HOME']);
    expect(reads).toBe(0);
    expect(await reveal(['--token', '${secret:token}'])).toEqual(['--token', 's3cret']);
    expect(await reveal({ TOKEN: '${secret:token}', A: 'b' })).toEqual({ TOKEN: 's3cret', A: 'b' });
    expect(reads).toBe(1);
  });
});

describe('the Secrets of a node', () => {
  const { signal } = new AbortController();
  const read = (object: object | Error) => {
    const asked: unknown[] = [];
    const client = {
      resource: (type: { resource: string }) => ({
        in: (namespace: string) => ({
          get: async (name: string) => {
            asked.push([type.resource, namespace, name]);
            if (object instanceof Error) throw object;
            return object;
          },
        }),
      }),
    } as unknown as Client;
    return { asked, values: new StoredSecrets({ client, node: 'n1' }).read('app', signal) };
  };
  const labels = { 'fleet.capstan.dev/task-secret': 'apps' };

  test('are read in its namespace', async () => {
    const { asked, values: found } = read({ metadata: { labels }, data: { token: 'czNjcmV0' } });
    expect(await found).toEqual({ token: 's3cret' });
    expect(asked).toEqual([['secrets', 'node-n1', 'app']]);
  });

  test.each([
    ['must have the label', { metadata: {}, data: { token: 'czNjcmV0' } }, 'InvalidParameters'],
    ['must contain text', { metadata: { labels }, data: { token: '/w==' } }, 'InvalidParameters'],
    ['must contain text without NUL', { metadata: { labels }, data: { token: 'AA==' } }, 'InvalidParameters'],
    ['must exist', ApiError.of(404, '{"kind":"Status","code":404,"reason":"NotFound"}'), 'UnknownSecret'],
  ])('%s', async (_, object, code) => {
    await expect(read(object).values).rejects.toMatchObject({ code });
  });
});
