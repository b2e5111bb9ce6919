import { describe, expect, test } from 'vitest';
import { NotAcceptable, negotiate } from './negotiate.ts';

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

describe('what a client takes', () => {
  test.each([
    [undefined, { format: 'json', shape: 'object' }],
    ['*/*', { format: 'json', shape: 'object' }],
    ['application/vnd.kubernetes.protobuf,application/json', { format: 'json', shape: 'object' }],
    [
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      { format: 'protobuf', shape: 'PartialObjectMetadata' },
    ],
    ['application/vnd.kubernetes.protobuf', { format: 'protobuf', shape: 'object' }],
    ['application/yaml', { format: 'yaml', shape: 'object' }],
    [`${table},application/json`, { format: 'json', shape: 'Table' }],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', { format: 'json', shape: 'object' }],
    ['application/json;q=0.1,application/yaml;q=0.9', { format: 'yaml' }],
  ])('%s', (accept, expected) => {
    expect(negotiate(accept)).toMatchObject(expected);
  });

  test('that we do not have is refused', () => {
    expect(() => negotiate('text/html')).toThrow(NotAcceptable);
    expect(() => negotiate('application/json;as=Table;v=v9;g=meta.k8s.io')).toThrow('only the following media types are accepted');
  });
});
