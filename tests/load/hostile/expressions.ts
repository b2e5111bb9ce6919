import { type Attack, asking, type Request } from './means.ts';
import { configMaps, type World } from './world.ts';

const group = 'admissionregistration.k8s.io';
const policies = ({ attacker }: World): string => `/clusters/${attacker.cluster}/apis/${group}/v1/validatingadmissionpolicies`;

interface Policy {
  readonly name: string;
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly expression: string;
  /** More of them, that are true. */
  readonly more?: number;
}

function policyOf({ name, variables = [], expression, more = 0 }: Policy): object {
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE', 'UPDATE'] }];
  const others = Array.from({ length: more }, (_, index) => ({ expression: `${index} == ${index}` }));
  const validations = [{ expression }, ...others];
  const spec = { failurePolicy: 'Fail', matchConstraints: { resourceRules: rules }, variables, validations };
  return { apiVersion: `${group}/v1`, kind: 'ValidatingAdmissionPolicy', metadata: { name }, spec };
}

const prepare =
  (policy: Policy) =>
  (world: World): Request[] => [
    { method: 'POST', path: policies(world), body: JSON.stringify(policyOf(policy)) },
    {
      method: 'POST',
      path: `${policies(world)}bindings`.replace('policiesbindings', 'policybindings'),
      body: JSON.stringify({ metadata: { name: policy.name }, spec: { policyName: policy.name, validationActions: ['Deny'] } }),
    },
  ];

const clean =
  ({ name }: Policy) =>
  (world: World): Request[] => [
    { method: 'DELETE', path: `${policies(world).replace('policies', 'policybindings')}/${name}` },
    { method: 'DELETE', path: `${policies(world)}/${name}` },
  ];

/** Writes while a policy of the attacker applies. */
function under(policy: Policy): Attack {
  const writes = asking(16, ({ attacker }) => ({
    method: 'POST',
    path: `${configMaps(attacker.cluster)}?dryRun=All`,
    body: JSON.stringify({
      metadata: { generateName: 'judged-' },
      data: Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, 'x'.repeat(20)])),
    }),
  }));
  return { ...writes, before: prepare(policy), after: clean(policy) };
}

const doubling = Array.from({ length: 24 }, (_, index) => ({
  name: `v${index}`,
  expression: index === 0 ? "'x'" : `variables.v${index - 1} + variables.v${index - 1}`,
}));

/** Two lists of 2^40 elements, whose parts are shared. */
const shared = ['v', 'w'].flatMap((letter) =>
  Array.from({ length: 41 }, (_, index) => {
    const before = `variables.${letter}${index - 1}`;
    return { name: `${letter}${index}`, expression: index === 0 ? "['a']" : `[${before}, ${before}]` };
  }),
);

/** Each variable needs the one before it. */
const chained = (length: number): NonNullable<Policy['variables']> =>
  Array.from({ length }, (_, index) => ({ name: `v${index}`, expression: index === 0 ? '1' : `variables.v${index - 1} + 1` }));

/** Creations of policies, which the server does not store. */
function dry(clients: number, policy: Policy): Attack {
  const body = JSON.stringify(policyOf(policy));
  return asking(clients, (world) => ({ method: 'POST', path: `${policies(world)}?dryRun=All`, body }));
}

export const expressions: readonly (readonly [string, Attack])[] = [
  [
    'a policy that compares all with all, 16 connections',
    under({ name: 'compare', expression: 'object.data.all(a, object.data.all(b, a != "" || b != ""))' }),
  ],
  [
    'a policy whose variables double, 16 connections',
    under({ name: 'double', variables: doubling, expression: 'size(variables.v23) > 0' }),
  ],
  [
    'a policy that compares shared lists, 16 connections',
    under({ name: 'share', variables: shared, expression: 'variables.v40 == variables.w40' }),
  ],
  [
    'a policy that searches with many states, 16 connections',
    under({ name: 'search', expression: "object.data.map(k, object.data[k]).join().find('(?i)(x|y)*x(x|y){200}z') == ''" }),
  ],
  [
    'a policy that parses addresses, 16 connections',
    under({ name: 'parse', expression: "object.data.all(a, object.data.all(b, isURL('https://example.com/' + a + '?b=c')))" }),
  ],
  [
    'a policy with a chain of 900 variables, 16 connections',
    under({ name: 'chain', variables: chained(900), expression: 'variables.v899 > 0' }),
  ],
  [
    'policies with a chain of 15,000 variables, 8 connections',
    dry(8, { name: 'long-chain', variables: chained(15_000), expression: 'true' }),
  ],
  ['policies of 20,000 validations, 8 connections', dry(8, { name: 'many', expression: 'true', more: 20_000 })],
  [
    'policies of 500 KB, 8 connections',
    asking(8, (world, index) => ({
      method: 'POST',
      path: `${policies(world)}?dryRun=All`,
      body: JSON.stringify(
        policyOf({ name: `big-${index}`, expression: Array.from({ length: 20_000 }, () => "object.kind == 'x'").join(' || ') }),
      ),
    })),
  ],
];
