import { describe, expect, it } from 'vitest';
import { acceptNames, takenNames } from './names.ts';
import type { Names } from './summary.ts';
import { byPreference } from './versions.ts';

const names = (given: Partial<Names>): Names => ({
  plural: '',
  singular: '',
  kind: '',
  listKind: '',
  shortNames: [],
  categories: [],
  ...given,
});
const asked = names({ plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList', shortNames: ['th', 'tg'] });

describe('the names of a definition', () => {
  it.each<[string, Partial<Names>[], Partial<Names>, string | undefined]>([
    ['are accepted when all are free', [], {}, undefined],
    ['are accepted when it already has them', [], asked, undefined],
    ['conflict with a plural', [{ plural: 'things' }], {}, 'PluralConflict: "things" is already in use'],
    ['conflict with a short name', [{ shortNames: ['thing'] }], {}, 'SingularConflict: "thing" is already in use'],
    [
      'conflict in two short names',
      [{ shortNames: ['tg', 'th'] }],
      {},
      'ShortNamesConflict: ["th" is already in use, "tg" is already in use]',
    ],
    ['conflict with a kind', [{ kind: 'Thing' }], {}, 'KindConflict: "Thing" is already in use'],
    ['conflict with a list kind', [{ listKind: 'ThingList' }], {}, 'ListKindConflict: "ThingList" is already in use'],
  ])('%s', (_, others, accepted, conflict) => {
    const outcome = acceptNames(asked, names(accepted), takenNames(others.map(names)));
    expect(outcome.conflict && `${outcome.conflict.reason}: ${outcome.conflict.message}`).toBe(conflict);
    if (conflict === undefined) expect(outcome.accepted).toEqual(asked);
  });

  it('stay as accepted when a new one conflicts', () => {
    const before = names({ ...asked, kind: 'Old' });
    expect(acceptNames(asked, before, takenNames([names({ kind: 'Thing' })])).accepted.kind).toBe('Old');
  });
});

describe('versions', () => {
  it('are sorted by stability, then newest first, then by name', () => {
    const all = ['foo1', 'v1alpha1', 'v10', 'v2', 'v3beta1', 'v12alpha1', 'v11beta2', 'v10beta3', 'foo10', 'v1'];
    expect(all.sort(byPreference)).toEqual([
      'v10',
      'v2',
      'v1',
      'v11beta2',
      'v10beta3',
      'v3beta1',
      'v12alpha1',
      'v1alpha1',
      'foo1',
      'foo10',
    ]);
  });
});
