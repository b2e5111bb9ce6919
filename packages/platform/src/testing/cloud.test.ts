import { type ApiExport, apiExportKind, defineKind, newObject, type ObjectOf, schema } from '@capstan/api';
import { acrossEndpoints, controller, done, patchStatus } from '@capstan/controller';
import { describe, expect, test, vi } from 'vitest';
import { noteKind, notes } from '../examples/notes.ts';
import type { Product } from '../product.ts';
import { type Cloud, startCloud, type Tenant } from './cloud.ts';

type Note = ObjectOf<typeof noteKind>;

const note = (name: string, text: string) => newObject(noteKind, { metadata: { name, namespace: 'default' }, spec: { text } });
const notesOf = ({ client }: Tenant) => client.resource<Note>(noteKind).in('default');
const statusOf = async (tenant: Tenant, name: string) => (await notesOf(tenant).get(name)).status;
const patiently = { timeout: 15_000, interval: 30 };

describe('a cloud with a product', () => {
  test('counts the words in the notes of every tenant, upgrades the product while it is used, and goes back', async () => {
    await using cloud = await startCloud({ products: [notes], tenants: 2 });
    for (const tenant of cloud.tenants) await notesOf(tenant).create(note('first', 'a few words') as Note);
    for (const tenant of cloud.tenants)
      await vi.waitFor(async () => expect(await statusOf(tenant, 'first')).toMatchObject({ words: 3 }), patiently);
    const [first] = cloud.tenants as [Tenant];
    const before = await schemaNames(cloud);

    await cloud.replaceProducts([notesWithLetters]);
    await vi.waitFor(async () => expect(await statusOf(first, 'first')).toMatchObject({ letters: 9 }), patiently);
    expect(await schemaNames(cloud)).not.toEqual(before);
    const third = await cloud.addTenant();
    await notesOf(third).create(note('later', 'hello') as Note);
    await vi.waitFor(async () => expect(await statusOf(third, 'later')).toMatchObject({ letters: 5 }), patiently);

    await cloud.replaceProducts([notes]);
    await vi.waitFor(async () => expect(await schemaNames(cloud)).toEqual(before), patiently);
    await notesOf(third).create(note('again', 'two words') as Note);
    await vi.waitFor(async () => expect(await statusOf(third, 'again')).toMatchObject({ words: 2 }), patiently);
  });

  test('goes on with the others when one product cannot work', async () => {
    const crashing: Product = {
      ...notes,
      name: 'crashing',
      kinds: [],
      boundBy: [],
      controllers: [
        {
          name: 'broken',
          make: () => {
            throw new Error('cannot be made');
          },
        },
      ],
    };
    await using cloud = await startCloud({ products: [crashing, notes], tenants: 1 });
    const [tenant] = cloud.tenants as [Tenant];
    await notesOf(tenant).create(note('first', 'still counted') as Note);
    await vi.waitFor(async () => expect(await statusOf(tenant, 'first')).toMatchObject({ words: 2 }), patiently);
    await vi.waitFor(
      () => expect(cloud.log).toContainEqual(expect.stringMatching(/^crashing\/broken: failed and starts again in \d+ s: cannot be made$/)),
      patiently,
    );
  });
});

async function schemaNames(cloud: Cloud): Promise<(string | undefined)[]> {
  const { spec } = await cloud.platform.resource<ApiExport>(apiExportKind).get('notes.capstan.dev');
  return spec?.resources?.map(({ schema: name }) => name) ?? [];
}

/** The next version of the product: another field in the status. */
const { integer, object, optional } = schema;
const version = noteKind.versions.v1alpha1;
const noteWithLetters = defineKind({
  group: noteKind.group,
  kind: noteKind.kind,
  plural: noteKind.resource,
  scope: 'Namespaced',
  description: noteKind.description,
  versions: {
    v1alpha1: {
      spec: version.spec,
      status: object('What was found out about it.', {
        words: optional(integer('Number of words in the text.')),
        letters: optional(integer('Number of letters in the text.')),
      }),
    },
  },
});
type NoteWithLetters = ObjectOf<typeof noteWithLetters>;

const letters = controller('letters')
  .for<NoteWithLetters>(noteWithLetters)
  .reconcile(async ({ object: found, client, wrote }) => {
    if (found === undefined) return done;
    const status = { ...found.status, letters: found.spec.text.replaceAll(' ', '').length };
    wrote(await patchStatus(client.resource<NoteWithLetters>(noteWithLetters), found, status));
    return done;
  });

const notesWithLetters: Product = {
  ...notes,
  kinds: [noteWithLetters],
  controllers: [{ name: 'letters', make: ({ tenants }) => acrossEndpoints(tenants, letters) }],
};
