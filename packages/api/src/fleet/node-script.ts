import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { object, optional, text } from '../definition/schema.ts';
import { fleetGroup } from './fields.ts';

export const nodeScriptKind = defineKind({
  group: fleetGroup,
  kind: 'NodeScript',
  plural: 'nodescripts',
  categories: ['capstan'],
  scope: 'Cluster',
  description:
    'A script that tasks may run on nodes, by its name. Agents can read all of them, so it must contain no secrets. A task can name the SHA-256 of the content, and is ' +
    'then refused if the script has changed.',
  versions: {
    v1alpha1: {
      spec: object('The script.', {
        description: optional(text('Its purpose, for people.', { maxLength: 1024 })),
        content: text('The whole file, with the line that names its interpreter: `#!/bin/sh`.', {
          minLength: 3,
          maxLength: 262_144,
          pattern: '^#!/',
        }),
      }),
      rules: [
        {
          rule: "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
          message: 'must have a name of at most 63 lower-case letters, digits and hyphens',
        },
      ],
      columns: [{ name: 'Description', type: 'string', path: '.spec.description' }],
    },
  },
});

export type NodeScript = ObjectOf<typeof nodeScriptKind>;
