import type { Random } from './random.ts';

const leaves = [
  'object',
  'oldObject',
  'object.metadata.name',
  'object.spec',
  'object.data',
  'self',
  'oldSelf',
  'self.list',
  'self.text',
  'self.map',
  'request',
  'params',
  'namespaceObject',
  'authorizer',
  'variables.a',
  "'a'",
  "'aaaaaaaaaaaaaaaaaaaaaaaa'",
  "b'\\x00'",
  '1',
  '-9223372036854775808',
  '1u',
  '1.5',
  'true',
  'null',
  '[]',
  '[1, 2, 3]',
  '{}',
  "{'a': 1}",
  "duration('1s')",
  "timestamp('2026-01-01T00:00:00Z')",
  'type(1)',
  "quantity('1Gi')",
  "ip('10.0.0.1')",
  "cidr('10.0.0.0/8')",
  "url('https://a/b')",
  "semver('1.2.3')",
  "format.named('dns1123Label').value()",
  'x',
];

const shapes: readonly ((random: Random, inner: () => string) => string)[] = [
  (random, inner) => `${inner()} ${random.pick(['+', '-', '*', '/', '%', '==', '!=', '<', '<=', '&&', '||', 'in'])} ${inner()}`,
  (_random, inner) => `(${inner()})`,
  (_random, inner) => `!(${inner()})`,
  (_random, inner) => `${inner()} ? ${inner()} : ${inner()}`,
  (_random, inner) => `size(${inner()})`,
  (random, inner) => `(${inner()}).${random.pick(['all', 'exists', 'exists_one', 'map', 'filter'])}(x, ${inner()})`,
  (random, inner) =>
    `(${inner()}).${random.pick(['sum', 'min', 'max', 'isSorted', 'reverse', 'sort', 'distinct', 'flatten', 'lowerAscii', 'size', 'trim'])}()`,
  (random, inner) =>
    `(${inner()}).${random.pick(['matches', 'contains', 'startsWith', 'split', 'indexOf', 'find', 'findAll', 'join', 'replace'])}(${inner()})`,
  (_random, inner) => `[${inner()}, ${inner()}]`,
  (_random, inner) => `{${inner()}: ${inner()}}`,
  (_random, inner) => `(${inner()})[${inner()}]`,
  (_random, inner) => `has(${inner()})`,
  (random, inner) => `${random.pick(['string', 'int', 'uint', 'double', 'bytes', 'dyn', 'duration', 'timestamp', 'type'])}(${inner()})`,
  (_random, inner) => `(${inner()}).?a.orValue(${inner()})`,
  (_random, inner) => `cel.bind(y, ${inner()}, y == ${inner()})`,
  (random, inner) =>
    `${inner()}.matches('${random.pick(['(a+)+$', '(a|a)*b', '[', '(?i)x{1,1000}', '\\\\pL+', '^(([a-z])+.)+[A-Z]([a-z])+$'])}')`,
];

export function expression(random: Random, depth = 0): string {
  if (depth > 5 || random.chance(0.25)) return random.pick(leaves);
  return random.pick(shapes)(random, () => expression(random, depth + 1));
}
