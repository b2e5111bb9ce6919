import { conditions, immutable, intOrString, quantity, reference, timestamp } from './common.ts';
import { defineKind } from './define-kind.ts';
import { anything, choice, flag, integer, keyedList, list, map, object, optional, set, text, withDefault } from './schema.ts';

/** A kind that uses everything that a definition can say. */
export const sampleKind = defineKind({
  group: 'sample.capstan.dev',
  kind: 'Turbine',
  plural: 'turbines',
  shortNames: ['tb'],
  categories: ['capstan'],
  scope: 'Namespaced',
  description: 'A turbine, which turns steam into work.',
  versions: {
    v1alpha1: {
      spec: object(
        'How the turbine should run.',
        {
          model: text('Model of the turbine.', { minLength: 1, maxLength: 63, rules: [immutable] }),
          blades: withDefault(integer('Number of blades.', { minimum: 1, maximum: 64, format: 'int32' }), 3),
          minimumBlades: optional(integer('Fewest blades with which it may run.', { minimum: 1, format: 'int32' })),
          mode: withDefault(choice('How it runs.', ['Idle', 'Full']), 'Idle'),
          reversed: optional(flag('Runs backwards.')),
          boiler: reference('The Boiler that drives it.'),
          pressure: optional(quantity('Pressure of the steam.')),
          valve: optional(intOrString('How far the valve is open: a number or a percentage.', { maxLength: 8 })),
          labels: optional(map('Labels of the steam.', text('Value.', { maxLength: 63 }), { maxProperties: 8 })),
          tags: optional(set('Words to find it by.', text('A word.', { maxLength: 32 }), { maxItems: 8 })),
          steps: optional(list('Steps to start it.', text('A step.', { maxLength: 32 }), { maxItems: 8 })),
          pipes: optional(
            keyedList(
              'Its pipes.',
              object('A pipe.', {
                name: text('Name of the pipe.', { maxLength: 32 }),
                width: withDefault(integer('Width in millimetres.'), 10),
              }),
              { keys: ['name'], maxItems: 8 },
            ),
          ),
          settings: optional(anything('Settings of the maker.')),
        },
        {
          rules: [
            { rule: '!has(self.minimumBlades) || self.minimumBlades <= self.blades', message: 'must have at least `minimumBlades` blades' },
          ],
        },
      ),
      status: object('How the turbine runs.', {
        replicas: optional(integer('Turbines that run.', { format: 'int32' })),
        startedAt: optional(timestamp('Time of the start.')),
        conditions: optional(conditions()),
      }),
      rules: [{ rule: 'self.metadata.name.size() <= 40', message: 'must have a name of at most 40 characters' }],
      columns: [{ name: 'Model', type: 'string', path: '.spec.model' }],
      scale: { specReplicasPath: '.spec.blades', statusReplicasPath: '.status.replicas' },
      selectableFields: ['.spec.model'],
    },
  },
});
