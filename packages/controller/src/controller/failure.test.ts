import { ApiError } from '@capstan/client';
import { type StatusError, status } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { resultOf } from './failure.ts';
import { TerminalError } from './result.ts';

const configMaps = { group: '', resource: 'configmaps' };
const subject = { type: configMaps, key: { cluster: 'abc', namespace: 'shop', name: 'one' } };
const refusal = ({ status: said, code }: StatusError): ApiError => new ApiError(said, { code });
const notFound = (group: string, resource: string, name: string): ApiError => refusal(status.notFound({ group, resource }, name));
const terminating = (): ApiError => {
  const { status: said, code } = status.forbidden(configMaps, 'one', 'the namespace is being terminated');
  return new ApiError({ ...said, details: { ...said.details, causes: [{ reason: 'NamespaceTerminating' }] } } as ApiError['status'], {
    code,
  });
};

describe('resultOf', () => {
  test.each([
    ['reconciles again in a moment after a conflict', refusal(status.conflict(configMaps, 'one', 'changed')), 'requeueAfter'],
    ['is done if the object is gone', notFound('', 'configmaps', 'one'), 'done'],
    ['is done if its namespace is gone', notFound('', 'namespaces', 'shop'), 'done'],
    ['is done if its workspace is gone', notFound('core.kcp.io', 'logicalclusters', 'abc'), 'done'],
    ['is done if its namespace is being deleted', terminating(), 'done'],
    ['fails if another object is missing', notFound('', 'configmaps', 'two'), 'error'],
    ['fails if an object of another kind with the same name is missing', notFound('', 'secrets', 'one'), 'error'],
    ['fails if the namespace of another object is missing', notFound('', 'namespaces', 'other'), 'error'],
    ['fails on any other error', new Error('the disk is full'), 'error'],
    ['stops after a terminal error', new TerminalError('hopeless'), 'terminal'],
  ])('%s', (_name, error, type) => {
    expect(resultOf(error, subject)).toMatchObject({ type });
  });

  test('fails if something is missing and the work is about no object', () => {
    const error = notFound('', 'configmaps', 'one');
    expect(resultOf(error)).toEqual({ type: 'error', error });
  });
});
