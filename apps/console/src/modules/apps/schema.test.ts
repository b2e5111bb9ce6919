import { expect, test } from 'vitest';
import { faultsIn, initialValues, objectOf, schemaFields } from './schema.ts';

const allocation = { type: 'string', format: 'allocation' };
const schema = {
  type: 'object',
  required: ['controller_allocation_id'],
  properties: {
    partition: { type: 'string', pattern: '^[a-z]{1,8}$', default: 'gpu', description: 'Name of the partition.' },
    controller_allocation_id: allocation,
    compute_allocation_ids: { type: 'array', items: allocation },
    users: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'uid'],
        properties: { name: { type: 'string' }, uid: { type: 'integer', minimum: 1000 } },
      },
    },
    names: { type: 'array', items: { type: 'string' } },
    accounting: { type: 'boolean', default: false },
    confinement: { type: 'string', enum: ['cgroup', 'none'], default: 'cgroup' },
    retention: { type: 'integer', minimum: 1, maximum: 9 },
  },
};
const fields = schemaFields(schema);
const filled = { ...initialValues(fields), controller_allocation_id: 'a1' };

test('makes an input for each kind of field, the required ones first', () => {
  expect(fields.map(({ label, input }) => [label, input.kind])).toEqual([
    ['Controller allocation', 'allocation'],
    ['Partition', 'text'],
    ['Compute allocations', 'allocations'],
    ['Users', 'json'],
    ['Names', 'texts'],
    ['Accounting', 'flag'],
    ['Confinement', 'choice'],
    ['Retention', 'integer'],
  ]);
});

test('shows the form of a list of objects', () => {
  const users = fields.find(({ name }) => name === 'users');
  expect(users?.input).toEqual({ kind: 'json', hint: '[{"name":"…","uid":1000}]' });
});

test('a schema without fields makes an empty form', () => {
  expect(schemaFields(undefined)).toEqual([]);
  expect(schemaFields({ type: 'object' })).toEqual([]);
});

test('leaves out fields that nobody has filled in, so that the server adds their defaults', () => {
  expect(objectOf(fields, filled)).toEqual({ controller_allocation_id: 'a1', confinement: 'cgroup' });
});

test('gives each field the type of its schema', () => {
  const values = {
    ...filled,
    compute_allocation_ids: ['a2', 'a3'],
    users: '[{"name": "ann", "uid": 2000}]',
    accounting: true,
    retention: '5',
  };
  expect(objectOf(fields, values)).toEqual({
    controller_allocation_id: 'a1',
    compute_allocation_ids: ['a2', 'a3'],
    users: [{ name: 'ann', uid: 2000 }],
    accounting: true,
    confinement: 'cgroup',
    retention: 5,
  });
});

test.each([
  [{ controller_allocation_id: '' }, ['controller_allocation_id']],
  [{ partition: 'GPU' }, ['partition']],
  [{ retention: '10' }, ['retention']],
  [{ retention: '1.5' }, ['retention']],
  [{ users: '[{' }, ['users']],
  [{}, []],
])('finds the faults of %j', (part, names) => expect(Object.keys(faultsIn(fields, { ...filled, ...part }))).toEqual(names));

test('leaves patterns that a browser does not understand to the server', () => {
  const odd = schemaFields({ properties: { a: { type: 'string', pattern: '(?<!' } } });
  expect(faultsIn(odd, { a: 'x' })).toEqual({});
});
