import { common, defineKind, type ObjectOf, schema } from '@capstan/api';
import { acrossEndpoints, controller, done, patchStatus, setCondition } from '@capstan/controller';
import type { Product } from '../index.ts';

const { integer, object, optional, text } = schema;

/** The kind: its schema, its type and its reference page. */
export const noteKind = defineKind({
  group: 'notes.example.com',
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  description: 'A note whose words are counted.',
  versions: {
    v1alpha1: {
      spec: object('The note.', { text: text('Its text.', { maxLength: 10_000 }) }),
      status: object('What was found out about it.', {
        words: optional(integer('Number of words in the text.', { minimum: 0 })),
        conditions: optional(common.conditions()),
      }),
    },
  },
});

type Note = ObjectOf<typeof noteKind>;

/** The controller: called for every note of every tenant. */
const counter = controller('note-counter')
  .for<Note>(noteKind)
  .reconcile(async ({ object: note, client, wrote }) => {
    if (note === undefined) return done;
    const words = note.spec.text.split(/\s+/).filter(Boolean).length;
    const observedGeneration = note.metadata.generation ?? 0;
    const ready = { type: 'Ready', status: 'True', reason: 'Counted', message: '', observedGeneration } as const;
    const status = { words, conditions: setCondition(note.status?.conditions, ready, new Date()) };
    wrote(await patchStatus(client.resource<Note>(noteKind), note, status));
    return done;
  });

/** The product: projects bind it without being asked, and its account needs nothing but the view of its export. */
export const notes: Product = {
  name: 'notes',
  kinds: [noteKind],
  boundBy: ['project'],
  rules: [],
  controllers: [{ name: 'counter', make: ({ tenants }) => acrossEndpoints(tenants, counter) }],
};
