import { operatorJobKind } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery';
import { Problem } from '../problems/problem.ts';
import { createOne } from '../resources/creating.ts';
import type { RestResource } from '../resources/resource.ts';
import type { Call, Reply } from '../routes/call.ts';

/** Jobs, as far as they are made here: an idempotency key belongs to this path. */
const jobs: RestResource = {
  path: 'operator/jobs',
  kind: operatorJobKind,
  singular: 'OperatorJob',
  plural: 'OperatorJobs',
  place: 'platform',
  verbs: ['create'],
  namePrefix: 'stock-',
};

/** `POST /operator/stock-units`: queues the work with the rights of the caller, and says where its progress is. */
export async function queueStockUnits(call: Call): Promise<Reply> {
  const body = await call.body();
  const unknown = Object.keys(body).find((name) => name !== 'offering' && name !== 'count');
  if (unknown !== undefined) throw new Problem('invalid_request', `The body has an unknown field: ${unknown}.`);
  const reply = await createOne(jobs, { ...call, body: () => Promise.resolve({ stock: body } as JsonObject) });
  return reply === 'sent' ? reply : { ...reply, status: 202 };
}
