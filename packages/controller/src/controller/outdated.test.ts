import { ApiError } from '@capstan/client';
import { type StatusError, status } from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { whenOutdated } from './outdated.ts';

const configMaps = { group: '', resource: 'configmaps' };
const refusal = ({ status: said, code }: StatusError): ApiError => new ApiError(said, { code });

describe('a reconcile that worked from an outdated copy', () => {
  it('looks again when somebody else wrote the object', () => {
    expect(whenOutdated(refusal(status.conflict(configMaps, 'one', 'changed')))).toMatchObject({ type: 'requeueAfter' });
  });

  it('is done when the object is gone', () => {
    expect(whenOutdated(refusal(status.notFound(configMaps, 'one')))).toEqual({ type: 'done' });
  });

  it('fails as it failed in any other case', () => {
    const error = new Error('the disk is full');
    expect(() => whenOutdated(error)).toThrow(error);
  });
});
