import { newObject, type ObjectOf } from '@capstan/api';
import { expect, test, vi } from 'vitest';
import { startCloud } from '../testing/cloud.ts';
import { noteKind, notes } from './notes.ts';

test('counts the words in the notes of every tenant', async () => {
  await using cloud = await startCloud({ products: [notes], tenants: 2 });
  for (const { client } of cloud.tenants) {
    const all = client.resource<ObjectOf<typeof noteKind>>(noteKind).in('default');
    await all.create(newObject(noteKind, { metadata: { name: 'first', namespace: 'default' }, spec: { text: 'a few words' } }));
    await vi.waitFor(async () => expect((await all.get('first')).status?.words).toBe(3), 10_000);
  }
});
