import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compact, missingFrom, printRule, uncovered } from './covers.ts';
import { type PolicyRule, ruleAllows } from './rule.ts';
import { asking } from './testing.ts';

const user = { name: 'jane', groups: [] };

describe('a rule allows', () => {
  const rule = (more: Partial<PolicyRule>): PolicyRule => ({ verbs: ['get'], apiGroups: [''], resources: ['pods'], ...more });
  const pods = { resource: 'pods', namespace: 'shop', name: 'web' };
  it.each<[boolean, PolicyRule, Parameters<typeof asking>[2]]>([
    [true, rule({}), pods],
    [false, rule({ verbs: ['list'] }), pods],
    [true, rule({ verbs: ['*'] }), pods],
    [false, rule({ apiGroups: ['apps'] }), pods],
    [true, rule({ apiGroups: ['*'] }), { ...pods, group: 'apps' }],
    [true, rule({ resources: ['*'] }), { ...pods, subresource: 'log' }],
    [false, rule({}), { ...pods, subresource: 'log' }],
    [true, rule({ resources: ['pods/log'] }), { ...pods, subresource: 'log' }],
    [false, rule({ resources: ['pods/log'] }), pods],
    [true, rule({ resources: ['*/log'] }), { ...pods, subresource: 'log' }],
    [false, rule({ resources: ['*/log'] }), { ...pods, subresource: 'catalog' }],
    [false, rule({ resources: ['pods/*'] }), { ...pods, subresource: 'log' }],
    [true, rule({ resourceNames: ['api', 'web'] }), pods],
    [false, rule({ resourceNames: ['api'] }), pods],
    [false, rule({ resourceNames: ['web'] }), { ...pods, name: '' }],
    [false, rule({ apiGroups: undefined as never }), pods],
    [false, rule({}), { path: '/api' }],
    [true, { verbs: ['get'], nonResourceURLs: ['/healthz'] }, { path: '/healthz' }],
    [false, { verbs: ['get'], nonResourceURLs: ['/healthz'] }, { path: '/healthz/etcd' }],
    [true, { verbs: ['get'], nonResourceURLs: ['/healthz*'] }, { path: '/healthz/etcd' }],
    [true, { verbs: ['get'], nonResourceURLs: ['/api/**'] }, { path: '/api/v1' }],
    [true, { verbs: ['get'], nonResourceURLs: ['*'] }, { path: '/anything' }],
    [false, { verbs: ['get'], nonResourceURLs: ['*'] }, pods],
  ])('%s: %j for %j', (allowed, given, request) => {
    expect(ruleAllows(given, asking(user, 'get', request))).toBe(allowed);
  });
});

const someOf = (...values: string[]): fc.Arbitrary<string[]> => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const resourceRule = fc.record<PolicyRule>(
  {
    verbs: someOf('get', 'list', 'create', '*'),
    apiGroups: someOf('', 'apps', '*'),
    resources: someOf('pods', 'pods/log', 'jobs/log', '*/log', 'jobs', '*'),
    resourceNames: someOf('a', 'b'),
  },
  { requiredKeys: ['verbs', 'apiGroups', 'resources'] },
);
const urlRule = fc.record({ verbs: someOf('get', 'post', '*'), nonResourceURLs: someOf('/api', '/api/*', '/apis', '*', '/a*') });
const anyRule: fc.Arbitrary<PolicyRule> = fc.oneof(resourceRule, urlRule);
const anyRequest = fc.oneof(
  fc
    .record({
      verb: fc.constantFrom('get', 'list', 'create', 'watch'),
      group: fc.constantFrom('', 'apps', 'batch'),
      resource: fc.constantFrom('pods', 'jobs', 'nodes'),
      subresource: fc.constantFrom('', 'log', 'status'),
      name: fc.constantFrom('', 'a', 'b', 'c'),
    })
    .map(({ verb, ...more }) => asking(user, verb, more)),
  fc
    .record({ verb: fc.constantFrom('get', 'post', 'put'), path: fc.constantFrom('/api', '/api/v1', '/apis', '/other') })
    .map(({ verb, path }) => asking(user, verb, { path })),
);

const orNone = (values: readonly string[] | undefined): readonly (string | undefined)[] => (values?.length ? values : [undefined]);

/** Every combination of a rule, and whether one of the held rules permits all of it: slow and obvious. */
function writtenOut(held: readonly PolicyRule[], rule: PolicyRule): PolicyRule[] {
  const pieces = (rule.nonResourceURLs ?? []).flatMap((url) =>
    (rule.verbs ?? []).map((verb) => ({ verbs: [verb], nonResourceURLs: [url] })),
  );
  const named = (rule.apiGroups ?? []).flatMap((group) =>
    (rule.resources ?? []).flatMap((resource) =>
      (rule.verbs ?? []).flatMap((verb) =>
        orNone(rule.resourceNames).map((name) => ({
          ...{ verbs: [verb], apiGroups: [group], resources: [resource] },
          ...(name !== undefined && { resourceNames: [name] }),
        })),
      ),
    ),
  );
  return [...named, ...pieces].filter((piece) => !held.some((one) => uncovered([one], [piece]).length === 0));
}

describe('the uncovered part', () => {
  it('is the combinations that no single rule covers', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 6 }), anyRule, (held, wanted) => {
        expect(uncovered(held, [wanted])).toEqual(writtenOut(held, wanted));
        expect(missingFrom(held, [wanted]).total).toBe(writtenOut(held, wanted).length);
      }),
      { numRuns: 1000 },
    );
  });

  it('of held rules is empty', () => {
    fc.assert(fc.property(fc.array(anyRule, { maxLength: 5 }), (rules) => uncovered(rules, rules).length === 0));
  });

  it('is everything if no rules are held', () => {
    fc.assert(fc.property(anyRule, (rule) => uncovered([], [rule]).length > 0));
  });

  it('never omits a permission: the holder may do everything that covered rules allow', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 4 }), anyRule, anyRequest, (held, wanted, request) => {
        if (uncovered(held, [wanted]).length > 0 || !ruleAllows(wanted, request)) return;
        expect(held.some((rule) => ruleAllows(rule, request))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('is empty once it has been granted', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 4 }), fc.array(anyRule, { maxLength: 4 }), (held, wanted) => {
        const missing = uncovered(held, wanted);
        expect(uncovered([...held, ...compact(missing)], wanted)).toEqual([]);
      }),
    );
  });

  it('is described briefly', () => {
    const missing = uncovered([], [{ verbs: ['get', 'list'], apiGroups: ['', 'apps'], resources: ['pods'], resourceNames: ['a"b'] }]);
    expect(compact(missing).map(printRule)).toEqual([
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["a\\"b"], Verbs:["get" "list"]}',
      '{APIGroups:["apps"], Resources:["pods"], ResourceNames:["a\\"b"], Verbs:["get" "list"]}',
    ]);
  });
});
