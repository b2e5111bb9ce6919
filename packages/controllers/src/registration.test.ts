import { Client, fixedCredentials, InformerFactory, type ResourceType } from '@capstan/client';
import { describe, expect, test } from 'vitest';
import { type ControllerSettings, chosenControllers, controllers } from './index.ts';

const settings: ControllerSettings = { authority: undefined, signing: undefined, concurrency: undefined };
const all = controllers.map(({ name }) => name);

test('every controller has a name of its own', () => {
  expect(new Set(all).size).toBe(all.length);
});

describe.each(controllers)('the registration of $name', ({ name, watches, make }) => {
  test('names the controller as it names itself', () => {
    expect(make(settings).name).toBe(name);
  });

  test('states the kinds that the controller watches', () => {
    using client = new Client({ server: 'http://127.0.0.1:1', credentials: fixedCredentials({}), namespace: 'default' });
    const asked = new RecordingFactory({ client });
    make(settings).prepare?.(asked, () => asked);
    expect([...asked.resources].sort()).toEqual([...watches].sort());
  });
});

test.each([
  [['*'], all],
  [['namespace'], ['namespace']],
  [['*', '-namespace'], all.filter((name) => name !== 'namespace')],
  [['-namespace', 'namespace', 'garbage-collector'], ['garbage-collector']],
  [['-namespace'], []],
])('%j chooses the controllers that it names', (choice, expected) => {
  expect(chosenControllers(controllers, choice).map(({ name }) => name)).toEqual(expected);
});

class RecordingFactory extends InformerFactory {
  readonly resources = new Set<string>();

  override informer: InformerFactory['informer'] = (type: ResourceType, selection) => {
    this.resources.add(type.group === '' ? type.resource : `${type.resource}.${type.group}`);
    return super.informer(type, selection);
  };
}
