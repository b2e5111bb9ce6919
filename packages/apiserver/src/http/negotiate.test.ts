import { describe, expect, test } from 'vitest';
import { NotAcceptable, negotiate, requireOffered, takesJson } from './negotiate.ts';

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

describe('an Accept header', () => {
  test.each([
    [undefined, { format: 'json', shape: 'object' }],
    ['*/*', { format: 'json', shape: 'object' }],
    ['application/vnd.kubernetes.protobuf,application/json', { format: 'protobuf', shape: 'object' }],
    ['application/vnd.kubernetes.protobuf, */*', { format: 'protobuf', shape: 'object' }],
    ['*/*,application/vnd.kubernetes.protobuf', { format: 'protobuf', shape: 'object' }],
    ['application/*,application/yaml', { format: 'yaml', shape: 'object' }],
    ['application/vnd.kubernetes.protobuf;q=0.5,application/json', { format: 'json', shape: 'object' }],
    ['application/json;q=0.5,application/vnd.kubernetes.protobuf', { format: 'protobuf', shape: 'object' }],
    ['text/html,application/vnd.kubernetes.protobuf', { format: 'protobuf', shape: 'object' }],
    [`application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,${table}`, { format: 'json', shape: 'Table' }],
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

  test('without a supported type is rejected', () => {
    expect(() => negotiate('text/html')).toThrow('only the following media types are accepted');
    expect(() => negotiate('APPLICATION/JSON')).toThrow('only the following media types are accepted');
    expect(() => requireOffered('text/html')).toThrow(NotAcceptable);
    expect(() => negotiate('application/json;as=Table;v=v9;g=meta.k8s.io')).toThrow('only the following media types are accepted');
  });

  test.each([
    ['application/vnd.kubernetes.protobuf, */*', { format: 'json', shape: 'object' }],
    ['application/vnd.kubernetes.protobuf,application/yaml', { format: 'yaml', shape: 'object' }],
    [`application/vnd.kubernetes.protobuf,${table}`, { format: 'json', shape: 'Table' }],
    [
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      { format: 'protobuf', shape: 'PartialObjectMetadata' },
    ],
  ])('%s, for a kind without protobuf', (accept, expected) => {
    expect(negotiate(accept, false)).toMatchObject(expected);
  });

  test('with only protobuf is rejected for a kind without protobuf', () => {
    expect(() => negotiate('application/vnd.kubernetes.protobuf', false)).toThrow('only the following media types are accepted');
  });

  test('does or does not accept JSON as well', () => {
    expect(takesJson('application/vnd.kubernetes.protobuf,application/json')).toBe(true);
    expect(takesJson('application/vnd.kubernetes.protobuf')).toBe(false);
    expect(takesJson('application/vnd.kubernetes.protobuf,application/yaml')).toBe(false);
    expect(takesJson('application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json')).toBe(false);
  });
});
