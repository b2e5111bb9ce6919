import { isPath } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MalformedUrl } from './malformed-url.ts';
import { parsePlace } from './place.ts';

const parse = (path: string): ReturnType<typeof parsePlace> => parsePlace(path, decodeURIComponent);

describe('the start of a path', () => {
  test.each([
    ['/api/v1/pods', { place: { kind: 'plain' }, rest: '/api/v1/pods' }],
    ['/clusters/root:a:b/api', { place: { kind: 'workspace', path: 'root:a:b' }, rest: '/api' }],
    ['/clusters/2x1b', { place: { kind: 'workspace', path: '2x1b' }, rest: '/' }],
    ['/clusters/*/api', { place: { kind: 'workspace', path: '*' }, rest: '/api' }],
    [
      '/services/apiexport/root:ai/models/clusters/*/apis/x',
      { place: { kind: 'view', view: 'apiexport', of: ['root:ai', 'models'], path: '*' }, rest: '/apis/x' },
    ],
    [
      '/services/initializingworkspaces/root:org/clusters/2x1b/api',
      { place: { kind: 'view', view: 'initializingworkspaces', of: ['root:org'], path: '2x1b' }, rest: '/api' },
    ],
    ['/services/apiexport/root:ai/models', { place: { kind: 'plain' }, rest: '/services/apiexport/root:ai/models' }],
    ['/services/other/x/clusters/y', { place: { kind: 'plain' }, rest: '/services/other/x/clusters/y' }],
    ['/clustersx/root', { place: { kind: 'plain' }, rest: '/clustersx/root' }],
  ])('%s', (path, expected) => {
    expect(parse(path)).toEqual(expected);
  });

  test.each(['..', '.', '', '%2e%2e', 'root%2F..', 'root%3A', 'ROOT', '**', '%00', 'rооt'])('cannot name a workspace %j', (name) => {
    expect(() => parse(`/clusters/${name}/api`)).toThrow(MalformedUrl);
  });

  test('only ever names a workspace by a valid path', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        try {
          const { place } = parse(`/clusters/${encodeURIComponent(name)}/api`);
          expect(place.kind === 'workspace' && (place.path === '*' || isPath(place.path))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedUrl);
        }
      }),
    );
  });
});
