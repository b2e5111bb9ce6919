import { optionalVersions as known } from '@capstan/apiserver';
import { describe, expect, test } from 'vitest';
import { optionalVersions, parseRuntimeConfig } from './runtime-config.ts';

const version = 'admissionregistration.k8s.io/v1beta1';

test('lists exactly the versions that the server can serve on request', () => {
  expect([...optionalVersions]).toEqual(known());
});

describe('--runtime-config', () => {
  test.each([
    [`${version}=true`, [version]],
    [version, [version]],
    [`${version}=false`, []],
    ['api/beta=true', [version]],
    ['api/all=true', [version]],
    [`api/all=true, ${version}=false`, []],
    [`${version}=true,${version}=true`, [version]],
  ])('%s', (text, served) => {
    expect(parseRuntimeConfig(text)).toEqual(served);
  });

  test.each(['', 'nope/v1=true', `${version}=maybe`, `${version}=`])('rejects "%s"', (text) => {
    expect(() => parseRuntimeConfig(text)).toThrow(/^--runtime-config: expected .*, found "/);
  });
});
