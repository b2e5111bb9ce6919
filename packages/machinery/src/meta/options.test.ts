import { describe, expect, it } from 'vitest';
import {
  type DeleteOptions,
  invalidOptions,
  type ListOptions,
  validateDeleteOptions,
  validateIncludeObject,
  validateListOptions,
  validatePatchOptions,
  validateWriteOptions,
} from './options.ts';
import { parseDeleteOptions, parseListOptions, parsePatchOptions, queryBoolean, queryInteger } from './query.ts';

const bodies = (errors: readonly { field: string; body: string }[]): string[] => errors.map(({ field, body }) => `${field}: ${body}`);

describe('list options', () => {
  it.each<[ListOptions, string[]]>([
    [{}, []],
    [{ resourceVersion: '5', resourceVersionMatch: 'Exact' }, []],
    [{ resourceVersion: '0', resourceVersionMatch: 'NotOlderThan' }, []],
    [{ watch: true, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }, []],
    [
      { resourceVersionMatch: 'Exact' },
      ['resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided'],
    ],
    [
      { resourceVersion: '0', resourceVersionMatch: 'Exact' },
      ['resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
    ],
    [
      { resourceVersion: '1', resourceVersionMatch: 'Nope', continue: 'c' },
      [
        'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
        'resourceVersionMatch: Unsupported value: "Nope": supported values: "Exact", "NotOlderThan", ""',
      ],
    ],
    [{ sendInitialEvents: false }, ['sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list']],
    [
      { watch: true, sendInitialEvents: true },
      ['resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'],
    ],
    [
      { watch: true, resourceVersionMatch: 'Exact', continue: 'c' },
      [
        'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"',
        'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
      ],
    ],
  ])('%j', (options, expected) => {
    expect(bodies(validateListOptions(options))).toEqual(expected);
  });
});

it('errors about a field manager are few, however long it is', () => {
  expect(validateWriteOptions({ fieldManager: '\n'.repeat(128) })).toHaveLength(128);
  // One more says that it is too long.
  expect(validateWriteOptions({ fieldManager: '\n'.repeat(300_000) })).toHaveLength(129);
});

describe('write options', () => {
  it.each([
    [{ fieldManager: 'm'.repeat(128), dryRun: ['All', 'All'], fieldValidation: 'Strict' }, []],
    [{ fieldManager: 'm'.repeat(129) }, ['fieldManager: Too long: may not be more than 128 bytes']],
    [{ fieldManager: 'é\n' }, ['fieldManager: Invalid value: "é\\n": invalid character U+000A (at position 2)']],
    [{ dryRun: ['Some'] }, ['dryRun: Unsupported value: ["Some"]: supported values: "All"']],
    [
      { fieldValidation: 'Sometimes' },
      ['fieldValidation: Unsupported value: "Sometimes": supported values: "", "Ignore", "Strict", "Warn"'],
    ],
  ])('%j', (options, expected) => {
    expect(bodies(validateWriteOptions(options))).toEqual(expected);
  });

  it('require a manager for apply, and allow force only there', () => {
    expect(bodies(validatePatchOptions({}, 'apply'))).toEqual(['fieldManager: Required value: is required for apply patch']);
    expect(bodies(validatePatchOptions({ force: true }, 'other'))).toEqual(['force: Forbidden: may not be specified for non-apply patch']);
    expect(validatePatchOptions({ force: true, fieldManager: 'm' }, 'apply')).toEqual([]);
  });

  it.each<[DeleteOptions, string[]]>([
    [{ propagationPolicy: 'Foreground' }, []],
    [
      { propagationPolicy: 'Sometimes' },
      ['propagationPolicy: Unsupported value: "Sometimes": supported values: "Foreground", "Background", "Orphan", "nil"'],
    ],
    [
      { propagationPolicy: 'Orphan', orphanDependents: true },
      ['propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set'],
    ],
    [
      { ignoreStoreReadErrorWithClusterBreakingPotential: true, dryRun: ['All'], gracePeriodSeconds: 0 },
      [
        'ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: cannot be set together with .dryRun',
        'ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: cannot be set together with .gracePeriodSeconds',
      ],
    ],
  ])('delete: %j', (options, expected) => {
    expect(bodies(validateDeleteOptions(options))).toEqual(expected);
  });

  it('are reported as an object of meta.k8s.io', () => {
    const error = invalidOptions('CreateOptions', validateWriteOptions({ dryRun: ['Some'] }));
    expect(error.status).toMatchObject({ code: 422, reason: 'Invalid', details: { group: 'meta.k8s.io', kind: 'CreateOptions' } });
    expect(error.message).toBe('CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"');
  });

  it('validate includeObject of a table', () => {
    expect(validateIncludeObject('None')).toEqual([]);
    expect(bodies(validateIncludeObject('All'))).toEqual([
      `includeObject: Invalid value: "All": must be 'Metadata', 'Object', 'None', or empty`,
    ]);
  });
});

describe('options in a query', () => {
  it.each([
    [null, undefined],
    ['', true],
    ['0', false],
    ['False', false],
    ['1', true],
    ['no', true],
  ])('the boolean %j is %j', (text, value) => {
    expect(queryBoolean(text)).toBe(value);
  });

  it('integers are parsed as Go does', () => {
    expect(queryInteger('-12')).toBe(-12);
    expect(queryInteger('9223372036854775807')).toBe(Number(2n ** 63n - 1n));
    expect(() => queryInteger('1.5')).toThrow('strconv.ParseInt: parsing "1.5": invalid syntax');
    expect(() => queryInteger('')).toThrow('strconv.ParseInt: parsing "": invalid syntax');
    expect(() => queryInteger('9223372036854775808')).toThrow('strconv.ParseInt: parsing "9223372036854775808": value out of range');
  });

  it('are parsed by name', () => {
    expect(parseListOptions(new URLSearchParams('watch=1&limit=5&resourceVersion=7&sendInitialEvents=false'))).toMatchObject({
      watch: true,
      limit: 5,
      resourceVersion: '7',
      sendInitialEvents: false,
    });
    expect(parsePatchOptions(new URLSearchParams('dryRun=All&dryRun=Some&force=true&fieldManager=me'))).toMatchObject({
      dryRun: ['All', 'Some'],
      force: true,
      fieldManager: 'me',
    });
    expect(parseDeleteOptions(new URLSearchParams('gracePeriodSeconds=0&propagationPolicy=Orphan'))).toMatchObject({
      gracePeriodSeconds: 0,
      propagationPolicy: 'Orphan',
    });
  });
});
