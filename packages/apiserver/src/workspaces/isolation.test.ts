import fc from 'fast-check';
import { beforeAll, expect, test, vi } from 'vitest';
import { type Call, createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';

/**
 * Whatever the owner of one workspace does, the owner of another sees nothing of it: every answer, also to dry runs of writes, which pass admission, stays what it
 * was to the byte.
 */

const tokens = 'mallory-token,mallory,1\nbob-token,bob,2';
const [theirs, ours] = ['mmmm', 'bbbb'];
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const admission = '/apis/admissionregistration.k8s.io/v1';
const mutating = 'admissionregistration.k8s.io/v1beta1';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ tokens, optionalVersions: [mutating] });
  await give(theirs, 'mallory');
  await give(ours, 'bob');
  await admin(ours, definitions, widgets('bob'));
  await vi.waitFor(async () => expect((await server.call(`/clusters/${ours}/apis/things.example/v1/widgets`)).code).toBe(200), 5000);
  return () => server[Symbol.asyncDispose]();
});

/** A workspace with an owner and a few objects. */
async function give(id: string, owner: string): Promise<void> {
  await createWorkspace(server, id);
  await admin(id, '/api/v1/namespaces', { metadata: { name: 'default' } });
  await admin(id, `${rbac}/clusterrolebindings`, {
    metadata: { name: 'owner' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: owner }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  });
  await admin(id, '/api/v1/namespaces/default/configmaps', { metadata: { name: 'x' }, data: { of: id } });
  await admin(id, '/api/v1/namespaces/default/secrets', { metadata: { name: 'x' }, data: {} });
}

const admin = (id: string, path: string, body: object) => server.call(`/clusters/${id}${path}`, { method: 'POST', body });
const as = (who: string, path: string, call: Call = {}) =>
  server.call(path, { ...call, anonymous: true, headers: { ...call.headers, authorization: `Bearer ${who}-token` } });

function widgets(by: string): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.things.example' },
    spec: {
      group: 'things.example',
      scope: 'Cluster',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', categories: ['all'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { [by]: { type: 'string' } } } } },
          },
        },
      ],
    },
  };
}

/** What bob can see, and what would become of what bob would write. */
const questions: readonly (readonly [path: string, call?: Call])[] = [
  ['/api'],
  ['/apis'],
  ['/api/v1'],
  ['/openapi/v3'],
  ['/apis/things.example/v1'],
  ['/apis/things.example/v1/widgets'],
  [definitions],
  ['/api/v1/namespaces'],
  ['/api/v1/configmaps'],
  ['/api/v1/secrets'],
  ['/api/v1/namespaces/default/configmaps/x'],
  ['/api/v1/resourcequotas'],
  ['/api/v1/serviceaccounts'],
  [`${rbac}/clusterroles`],
  [`${rbac}/clusterrolebindings`],
  [`${admission}/validatingwebhookconfigurations`],
  [`${admission}/validatingadmissionpolicies`],
  [`/apis/${mutating}/mutatingadmissionpolicies`],
  ['/apis/apis.kcp.io/v1alpha2/apibindings'],
  ['/apis/apis.kcp.io/v1alpha2/apiexports'],
  ['/apis/core.kcp.io/v1alpha1/logicalclusters'],
  ['/api/v1/namespaces/default/configmaps?dryRun=All', { method: 'POST', body: { metadata: { name: 'new' } } }],
  ['/api/v1/namespaces/default/configmaps/x?dryRun=All', { method: 'DELETE' }],
  ['/apis/things.example/v1/widgets?dryRun=All', { method: 'POST', body: widget('w', { bob: 'x', mallory: 'y' }) }],
  ['/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { method: 'POST', body: { spec: { namespace: 'default' } } }],
];

function widget(name: string, spec: object): object {
  return { apiVersion: 'things.example/v1', kind: 'Widget', metadata: { name }, spec };
}

async function everythingBobSees(): Promise<string[]> {
  const answers: string[] = [];
  for (const [path, call] of questions) {
    const { code, text } = await as('bob', `/clusters/${ours}${path}`, call);
    answers.push(`${code} ${path} ${settled(text)}`);
  }
  return answers;
}

/** Without what differs between two askings of the same: the revision of a list, and what a dry run makes up. */
function settled(text: string): string {
  return text
    .replace(/"metadata":\{[^{}]*"resourceVersion":"\d+"[^{}]*\},"items"/, '"metadata":{},"items"')
    .replaceAll(/"(uid|creationTimestamp|deletionTimestamp|time)":"[^"]*"/g, '"$1":""');
}

const name = fc.constantFrom('x', 'y', 'default', 'owner', 'cluster-admin', 'system:masters', 'kube-system', 'w');
const metadata = fc.record(
  {
    name,
    annotations: fc.constantFrom({ 'kcp.io/cluster': ours }, { 'kcp.io/path': 'root:b', own: 'x' }),
    labels: fc.constantFrom({ uid: 'x' }, { 'kcp.io/cluster': ours }),
    finalizers: fc.constantFrom([], ['example.com/wait']),
    ownerReferences: fc.constantFrom([{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '00000000-0000-4000-8000-000000000000' }]),
  },
  { requiredKeys: ['name'] },
);
const everything = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }];
const denyAll = {
  failurePolicy: 'Fail',
  matchConstraints: { resourceRules: everything },
  validations: [{ expression: 'false', message: 'no' }],
};
const changeAll = {
  matchConstraints: { resourceRules: everything },
  reinvocationPolicy: 'IfNeeded',
  mutations: [
    {
      patchType: 'ApplyConfiguration',
      applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"changed": "by-mallory"}}}' },
    },
  ],
};
const made = (path: string, rest: object) =>
  metadata.map((meta): Step => ({ path, call: { method: 'POST', body: { metadata: meta, ...rest } } }));

interface Step {
  readonly path: string;
  readonly call: Call;
}

const step: fc.Arbitrary<Step> = fc.oneof(
  made('/api/v1/namespaces', {}),
  made('/api/v1/namespaces/default/configmaps', { data: { a: 'b' } }),
  made('/api/v1/namespaces/default/secrets', {}),
  made('/api/v1/namespaces/default/resourcequotas', { spec: { hard: { configmaps: '0' } } }),
  made('/api/v1/namespaces/default/limitranges', { spec: { limits: [] } }),
  made('/api/v1/namespaces/default/serviceaccounts', {}),
  made(`${rbac}/clusterroles`, { rules: [] }),
  made(`${rbac}/clusterrolebindings`, {
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:authenticated' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  }),
  made(`${admission}/validatingwebhookconfigurations`, {
    webhooks: [
      {
        name: 'no.example.com',
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: everything,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 1,
      },
    ],
  }),
  made(`${admission}/validatingadmissionpolicies`, { spec: denyAll }),
  made(`${admission}/validatingadmissionpolicybindings`, { spec: { policyName: 'x', validationActions: ['Deny'] } }),
  made(`/apis/${mutating}/mutatingadmissionpolicies`, { spec: changeAll }),
  made(`/apis/${mutating}/mutatingadmissionpolicybindings`, { spec: { policyName: 'x' } }),
  made('/apis/apis.kcp.io/v1alpha2/apibindings', { spec: { reference: { export: { path: ours, name: 'x' } } } }),
  made('/apis/apis.kcp.io/v1alpha2/apiexports', { spec: {} }),
  fc.constant<Step>({ path: definitions, call: { method: 'POST', body: widgets('mallory') } }),
  fc.constant<Step>({ path: '/apis/things.example/v1/widgets', call: { method: 'POST', body: widget('w', { mallory: 'x' }) } }),
  fc.constant<Step>({ path: `${definitions}/widgets.things.example`, call: { method: 'DELETE' } }),
  fc.constantFrom('configmaps', 'secrets', 'resourcequotas').map(
    (kind): Step => ({
      path: `/api/v1/namespaces/default/${kind}`,
      call: { method: 'DELETE' },
    }),
  ),
  name.map((which): Step => ({ path: `/api/v1/namespaces/${which}`, call: { method: 'DELETE' } })),
);

test('any sequence of operations in one workspace leaves every answer in another unchanged', async () => {
  const before = await everythingBobSees();
  expect(before.filter((answer) => !/^20[01] /.test(answer))).toEqual([]);
  let done = 0;
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const place = `${theirs}${run++}`;
      await give(place, 'mallory');
      for (const { path, call } of steps) if ((await as('mallory', `/clusters/${place}${path}`, call)).code < 300) done++;
      expect(await everythingBobSees()).toEqual(before);
    }),
    { numRuns: 25 },
  );
  // The sequences do something in their own workspace.
  expect(done).toBeGreaterThan(50);
}, 120_000);

test('nothing in another workspace can be touched', async () => {
  await fc.assert(
    fc.asyncProperty(step, async ({ path, call }) => {
      expect((await as('mallory', `/clusters/${ours}${path}`, call)).code).toBe(403);
    }),
    { numRuns: 60 },
  );
});

test('a watch tells nothing of another workspace', async () => {
  const path =
    '/api/v1/configmaps?watch=true&timeoutSeconds=2&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const watching = as('bob', `/clusters/${ours}${path}`);
  for (let index = 0; index < 20; index++) {
    await as('mallory', `/clusters/${theirs}/api/v1/namespaces/default/configmaps`, {
      method: 'POST',
      body: { metadata: { name: `c${index}` } },
    });
  }
  const events = (await watching).text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; object: { metadata: { name: string } } });
  expect(events.filter(({ type }) => type !== 'BOOKMARK').map(({ object }) => object.metadata.name)).toEqual(['x']);
});
