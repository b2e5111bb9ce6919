import { setTimeout as sleep } from 'node:timers/promises';
import { type AppOperation, type AppStep, appPreviewAnnotation, finalOperationStates } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { Problem } from '../problems/problem.ts';
import { createOne } from '../resources/creating.ts';
import { fromRest } from '../resources/mapping.ts';
import { type Place, placeOf } from '../resources/place.ts';
import { appOperations } from '../resources/table.ts';
import type { Call, Reply } from '../routes/call.ts';
import { appInstances, instanceOf } from './instance.ts';

const known = new Set(['name', 'type', 'member', 'parameters', 'dryRun']);
/** In milliseconds: how long a plan may take. */
const patience = 20_000;
const interval = 100;

/** `POST …/{id}/operations`: begins an operation, or shows its plan. */
export async function beginOperation(call: Call): Promise<Reply> {
  const body = await call.body();
  const unknown = Object.keys(body).find((field) => !known.has(field));
  if (unknown !== undefined) throw new Problem('invalid_request', `The body has an unknown field: ${unknown}.`);
  const { instance } = await instanceOf(call);
  const wanted: JsonObject = { ...body, instance: instance.metadata.name ?? '' };
  const reply = await createOne(appOperations, { ...call, body: () => Promise.resolve(wanted) });
  if (reply === 'sent' || body['dryRun'] !== true) return reply;
  return { status: 200, body: await shownPlan(call, reply) };
}

/**
 * `POST /instances?dryRun=true`: the plan of an instance that nobody has created. It needs an instance for a moment, which is marked as a preview: nothing is done for it, and the
 * platform deletes it should this process not come to it.
 */
export async function previewInstance(call: Call): Promise<Reply> {
  const place = await placeOf(appInstances, call);
  const { spec } = fromRest(appInstances, await call.body());
  const { kind } = appInstances;
  const { authorization, upstream } = call;
  const object = {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: { generateName: 'preview-', namespace: place.namespace, annotations: { [appPreviewAnnotation]: 'true' } },
    spec: { ...spec, paused: true },
  };
  const path = `${place.collection}?fieldManager=capstan-runtime-api&fieldValidation=Strict`;
  const made = await upstream.json<KubeObject>({ method: 'POST', path, authorization, body: JSON.stringify(object) });
  const { name = '' } = made.metadata;
  try {
    const operation = { instance: name, type: 'deploy', dryRun: true };
    const reply = await createOne(appOperations, { ...call, incoming: withoutKey(call), body: () => Promise.resolve(operation) });
    const { steps } = await shownPlan(call, reply);
    return { status: 200, body: { members: [...new Set(steps.flatMap(({ member }) => member ?? []))], steps } };
  } finally {
    await ignoring(upstream.json({ method: 'DELETE', path: `${place.collection}/${name}`, authorization }), isNotFound);
  }
}

/** The plan of an operation that was created to show it; the operation is deleted. */
async function shownPlan(call: Call, reply: Reply): Promise<ShownPlan> {
  if (reply === 'sent') return { steps: [] };
  const place = await placeOf(appOperations, call);
  const { name } = reply.body as { readonly name: string };
  try {
    return await planOf(call, place, name);
  } finally {
    const path = `${place.collection}/${name}`;
    await ignoring(call.upstream.json({ method: 'DELETE', path, authorization: call.authorization }), isNotFound);
  }
}

/** A preview creates nothing that could be found again by its key. */
function withoutKey({ incoming }: Call): Call['incoming'] {
  return Object.assign(Object.create(incoming) as Call['incoming'], { headers: { ...incoming.headers, 'idempotency-key': undefined } });
}

interface ShownPlan {
  readonly steps: readonly Pick<AppStep, 'id' | 'title' | 'stage' | 'member' | 'phase'>[];
}

/** Waits until the platform has planned an operation. */
async function planOf({ upstream, authorization }: Call, { collection }: Place, name: string): Promise<ShownPlan> {
  const end = performance.now() + patience;
  for (;;) {
    const { status } = await upstream.json<AppOperation>({ method: 'GET', path: `${collection}/${name}`, authorization });
    if (status?.state === 'succeeded')
      return {
        steps: (status.steps ?? []).map(({ id, title, stage, member, phase }) => ({
          id,
          title,
          stage,
          ...(member !== undefined && { member }),
          ...(phase !== undefined && { phase }),
        })),
      };
    if (finalOperationStates.has(status?.state ?? ''))
      throw new Problem('validation_failed', status?.message ?? 'The operation cannot be planned.');
    if (performance.now() > end) throw new Problem('upstream_timeout', 'The platform has not planned the operation in time. Try again.');
    await sleep(interval);
  }
}
