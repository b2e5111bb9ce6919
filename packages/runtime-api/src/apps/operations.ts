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
  return { status: 200, body: await shownPlan(call, { first: reply, wanted }) };
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
    const { steps } = await shownPlan(call, { first: reply, wanted: operation });
    return { status: 200, body: { members: [...new Set(steps.flatMap(({ member }) => member ?? []))], steps } };
  } finally {
    await ignoring(upstream.json({ method: 'DELETE', path: `${place.collection}/${name}`, authorization }), isNotFound);
  }
}

interface Planning {
  /** The answer to the creation of the operation that shows the first steps. */
  readonly first: Reply;
  /** The operation. */
  readonly wanted: JsonObject;
}

/** The whole plan. An operation shows only a part of a long one, so there is another for each part. */
async function shownPlan(call: Call, { first, wanted }: Planning): Promise<ShownPlan> {
  const { steps, total } = await shownPart(call, first);
  const all = [...steps];
  const { name: _, ...others } = wanted;
  while (all.length < total) {
    const next = { ...others, skipSteps: all.length };
    const reply = await createOne(appOperations, { ...call, incoming: withoutKey(call), body: () => Promise.resolve(next) });
    const part = await shownPart(call, reply);
    if (part.total !== total || part.steps.length === 0)
      throw new Problem('conflict', 'The plan has changed while it was read. Try again.');
    all.push(...part.steps);
  }
  return { steps: all };
}

/** The steps that an operation shows, which was created for that and is deleted. */
async function shownPart(call: Call, reply: Reply): Promise<PlanPart> {
  if (reply === 'sent') return { steps: [], total: 0 };
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

interface PlanPart extends ShownPlan {
  /** How many steps the whole plan has. */
  readonly total: number;
}

/** Waits until the platform has planned an operation. */
async function planOf({ upstream, authorization }: Call, { collection }: Place, name: string): Promise<PlanPart> {
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
        total: status.progress?.total ?? 0,
      };
    if (finalOperationStates.has(status?.state ?? ''))
      throw new Problem('validation_failed', status?.message ?? 'The operation cannot be planned.');
    if (performance.now() > end) throw new Problem('upstream_timeout', 'The platform has not planned the operation in time. Try again.');
    await sleep(interval);
  }
}
