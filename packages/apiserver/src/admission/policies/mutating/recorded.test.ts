import { readFileSync } from 'node:fs';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Things, version } from '../../../crds/testing/definitions.ts';
import { type Reply, startTestServer, type TestServer } from '../../../testing/harness.ts';

/** The recorded response of kube-apiserver 1.34 with mutating policies enabled. `ID` stands for a name unique to the case. */
type Answer = { code: number; object: JsonObject } | { code: number; reason: string; message: string; causes?: number };

interface Case {
  readonly case: string;
  readonly object?: JsonObject;
  readonly policies: { spec?: JsonObject; binding?: JsonObject; mutations?: JsonObject[]; json?: string; apply?: string }[];
  readonly answer: Answer;
  readonly then?: JsonObject;
  readonly updated?: Answer;
}

interface Definition {
  readonly case: string;
  readonly kind: string;
  readonly body: JsonObject;
  readonly answer: Answer;
}

const lines = readFileSync(new URL('./recorded.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const recorded = lines.map((line) => JSON.parse(line) as Case | Definition);
const cases = recorded.filter((line): line is Case => 'policies' in line).map((line, index) => ({ ...line, id: `case-${index}` }));
const definitions = recorded.filter((line): line is Definition => 'body' in line);

const registration = '/apis/admissionregistration.k8s.io/v1beta1';
const apiVersion = 'admissionregistration.k8s.io/v1beta1';
const namespace = 'probe';
const paths: Record<string, string> = {
  Deployment: `/apis/apps/v1/namespaces/${namespace}/deployments`,
  Thing: `/apis/probe.example.com/v1/namespaces/${namespace}/things`,
};
const rule = {
  apiGroups: ['', 'apps', 'probe.example.com'],
  apiVersions: ['*'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['configmaps', 'deployments', 'pods', 'things', 'services', 'serviceaccounts', 'secrets'],
};

const text = { type: 'string' };
/** One field of every kind that apply distinguishes. */
const fields: JsonObject = {
  size: { type: 'integer' },
  name: text,
  tags: { type: 'array', items: text },
  tagSet: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  parts: {
    type: 'array',
    items: { type: 'object', required: ['id'], properties: { id: text, n: { type: 'integer', default: 7 } } },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['id'],
  },
  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  atom: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: text, b: text } },
  map: { type: 'object', additionalProperties: text },
  color: { type: 'string', default: 'red' },
};

let server: TestServer;
const post = (path: string, body: unknown): Promise<Reply> => server.call(path, { method: 'POST', body });

function pathOf(kind: string): string {
  return paths[kind] ?? `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s`;
}

beforeAll(async () => {
  server = await startTestServer({ optionalVersions: [apiVersion] });
  await post('/api/v1/namespaces', { metadata: { name: namespace, labels: { team: 'a' } } });
  await post(pathOf('ConfigMap'), { metadata: { name: 'params', labels: { p: 'yes' } }, data: { value: 'from-params' } });
  await post(pathOf('ConfigMap'), { metadata: { name: 'params2', labels: { p: 'yes' } }, data: { value: 'second' } });
  await new Things(server, 'probe.example.com').define({ versions: [version('v1', fields)] });
  for (const { id, policies } of cases) {
    for (const [index, { spec, binding, mutations, json, apply }] of policies.entries()) {
      const patch =
        json === undefined
          ? { patchType: 'ApplyConfiguration', applyConfiguration: { expression: apply } }
          : { patchType: 'JSONPatch', jsonPatch: { expression: json } };
      await made('mutatingadmissionpolicies', `${id}-${index}`, {
        matchConstraints: { resourceRules: [rule], objectSelector: { matchLabels: { case: id } } },
        reinvocationPolicy: 'Never',
        ...spec,
        mutations: mutations ?? [patch],
      });
      await made('mutatingadmissionpolicybindings', `${id}-${index}`, { policyName: `${id}-${index}`, ...binding });
    }
  }
}, 60_000);

afterAll(() => server[Symbol.asyncDispose]());

async function made(resource: string, name: string, spec: JsonObject | object): Promise<void> {
  const reply = await post(`${registration}/${resource}`, { metadata: { name }, spec });
  if (reply.code !== 201) throw new Error(reply.text);
}

function answerOf(reply: Reply, id: string): Answer {
  const body = JSON.parse(reply.text.replaceAll(id, 'ID')) as KubeObject & { reason: string; message: string; details?: { causes?: [] } };
  const { code } = reply;
  if (body.kind === 'Status') return { code, reason: body.reason, message: body.message, causes: body.details?.causes?.length ?? 0 };
  for (const field of ['uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'generation'] as const) delete body.metadata[field];
  return { code, object: body as never };
}

describe('a mutating policy has the same effect as in Kubernetes', () => {
  it.each(cases)('$case', async ({ id, object = { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } }, answer, then, updated }) => {
    const path = pathOf(object['kind'] as string);
    const reply = await post(path, { ...object, metadata: { name: id, labels: { case: id } } });
    expect(answerOf(reply, id)).toEqual(answer);
    if (then === undefined) return;
    const second = await server.call(`${path}/${id}`, { method: 'PUT', body: { ...reply.json(), ...then } });
    expect(answerOf(second, id)).toEqual(updated);
  });
});

describe('a mutating policy or binding is accepted or rejected as in Kubernetes', () => {
  it.each(definitions)('$kind: $case', async ({ kind, body, answer }) => {
    const resource = kind === 'MutatingAdmissionPolicy' ? 'mutatingadmissionpolicies' : 'mutatingadmissionpolicybindings';
    const reply = await post(`${registration}/${resource}?dryRun=All`, { apiVersion, kind, metadata: { name: 'refused' }, ...body });
    expect(answerOf(reply, 'none')).toMatchObject(answer);
  });
});
