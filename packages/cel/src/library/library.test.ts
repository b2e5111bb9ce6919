import { expect, test } from 'vitest';
import { AUTHORIZER, type AuthorizationQuestion, AuthorizerValue, compile, declare } from '../index.ts';

/** Expressions from Kubernetes' documentation, or verified with kube-apiserver 1.34; all of them are true. */
test.each([
  // Lists
  "['a', 'b'].isSorted() && ![3, 1, 2].isSorted()",
  '[1, 3].sum() == 4 && [1.0, 3.0].sum() == 4.0 && [].sum() == 0',
  "[duration('1m'), duration('1s')].sum() == duration('1m1s')",
  '[1, 3].min() == 1 && [1, 3].max() == 3',
  '[1, 2, 2, 3].indexOf(2) == 1 && [1, 2, 2, 3].lastIndexOf(2) == 2',
  'sets.contains([1, 2, 3], [1, 2]) && sets.equivalent([1, 2, 2], [2, 1]) && !sets.intersects([1], [2])',
  // Patterns
  "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''",
  "'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '1a2'.findAll('[0-9]', 1) == ['1']",
  "'aaa'.findAll('').size() == 4",
  // Strings
  "'hello'.replace('', '-', 2) == '-h-ello' && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
  "'日本語'.substring(1, 2) == '本' && size('日本語') == 3",
  "'%s %d %.2f %x %o %b'.format(['a', 1, 1.5, 255, 8, 5]) == 'a 1 1.50 ff 10 101'",
  "'%f'.format([12345.678]) == '12,345.678000' && '%e'.format([3.14]) == '3.140000×10⁰⁰'",
  `'%s'.format([['a', 'b']]) == '["a", "b"]' && strings.quote('a"b') == '"a\\\\"b"'`,
  "string(1e20) == '1e+20' && string(100000.0) == '100000' && string(0.00001) == '1e-05'",
  // URLs
  "url('https://example.com:80/').getHost() == 'example.com:80' && url('https://example.com:80/').getPort() == '80'",
  "url('https://[::1]:80/').getHostname() == '::1' && url('/path').getHost() == ''",
  "url('https://example.com/a b').getEscapedPath() == '/a%20b'",
  "url('https://example.com/?k=a&k=b&l=c+d').getQuery() == {'k': ['a', 'b'], 'l': ['c d']}",
  "isURL('https://example.com') && isURL('/a') && !isURL('../relative') && !isURL('')",
  // Quantities
  "quantity('1Gi') == quantity('1024Mi') && quantity('50k').add(20) == quantity('50020')",
  "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50Mi').isGreaterThan(quantity('50M'))",
  "quantity('1500m').asApproximateFloat() == 1.5 && !quantity('1.5').isInteger() && sign(quantity('-1')) == -1",
  // Addresses
  "ip('127.0.0.1').isLoopback() && ip('fe80::1').isLinkLocalUnicast() && ip('8.8.8.8').isGlobalUnicast()",
  "string(ip('2001:DB8::0:1')) == '2001:db8::1' && !ip.isCanonical('2001:DB8::1') && !isIP('::ffff:1.2.3.4')",
  "cidr('192.168.0.0/24').containsIP('192.168.0.1') && cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))",
  "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('::1/64').prefixLength() == 64",
  // Formats and versions
  "!format.dns1123Label().validate('my-label').hasValue() && format.named('uuid').value().validate('x').hasValue()",
  "semver('1.2.3-alpha.1').isLessThan(semver('1.2.3')) && semver('v1.0', true).major() == 1 && !isSemver('1.2')",
  // Optionals and two variables
  "{'a': 1}[?'b'].orValue(5) == 5 && optional.of(1).optMap(x, x + 1).value() == 2 && [?optional.none(), 1].size() == 1",
  '[1, 2, 3].transformList(i, v, i * v) == [0, 2, 6] && [1, 2].transformMap(i, v, v > 1, v) == {1: 2}',
  "{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}",
  // Time
  "timestamp('2023-12-25T12:34:56Z').getHours('America/New_York') == 7",
  "timestamp('2023-01-02T00:00:00Z') - timestamp('2023-01-01T00:00:00Z') == duration('24h')",
  "string(duration('1h1ms')) == '3600.001s'",
])('%s', (source) => {
  const { program, message } = compile(source, { variables: new Map() });
  expect(message).toBeUndefined();
  expect(program!.evaluate({})).toMatchObject({ value: true });
});

test("passes the expression's checks to the authorizer", () => {
  const asked: AuthorizationQuestion[] = [];
  const authorizer = new AuthorizerValue((question) => {
    asked.push(question);
    return { allowed: question.verb === 'get', reason: 'because' };
  });
  const variables = new Map([['authorizer', declare.opaque(AUTHORIZER)]]);
  const source = `authorizer.group('apps').resource('deployments').namespace('n').name('d').check('get').allowed()
    && !authorizer.serviceAccount('n', 'sa').path('/healthz').check('post').allowed()`;
  const outcome = compile(source, { variables }).program!.evaluate({ authorizer });
  expect(outcome).toMatchObject({ value: true });
  expect(asked).toMatchObject([
    { kind: 'resource', verb: 'get', group: 'apps', resource: 'deployments', namespace: 'n', name: 'd' },
    { kind: 'path', verb: 'post', path: '/healthz', serviceAccount: { namespace: 'n', name: 'sa' } },
  ]);
});

test('authorization is expensive: a third check exceeds the limit', () => {
  const authorizer = new AuthorizerValue(() => ({ allowed: true }));
  const variables = new Map([['authorizer', declare.opaque(AUTHORIZER)]]);
  const check = "authorizer.path('/').check('get').allowed()";
  const outcome = compile(`${check} && ${check} && ${check}`, { variables }).program!.evaluate({ authorizer });
  expect(outcome).toMatchObject({ isCostExceeded: true });
});
