import { truth } from '../http/parameters.ts';
import { createOne } from '../resources/creating.ts';
import { sendEvents, wantsEvents } from '../resources/events.ts';
import { sendLogs } from '../resources/logs.ts';
import { getOne, largestPage, listSome } from '../resources/reading.ts';
import type { RestResource, Verb } from '../resources/resource.ts';
import { act, deleteOne, patchOne, replaceOne } from '../resources/writing.ts';
import type { Handler } from './call.ts';
import { idempotencyKey, namespace } from './parameters.ts';
import type { Parameter, Route } from './route.ts';

const ifMatch: Parameter = {
  name: 'If-Match',
  description: 'The ETag that was read. The request is refused if the object has changed since.',
  schema: { type: 'string' },
  place: 'header',
};
const whole = (name: string, description: string, maximum?: number): Parameter => ({
  name,
  description,
  schema: { type: 'integer', minimum: 0, ...(maximum !== undefined && { maximum }) },
});
const flag = (name: string, description: string): Parameter => ({ name, description, schema: { type: 'boolean', default: false } });

/** An answer to `POST` with `dryRun`, which creates nothing. */
export interface Preview {
  readonly description: string;
  /** The name of the schema of the answer. */
  readonly schema: string;
  readonly handler: Handler;
}

/** All routes of a resource. */
export function resourceRoutes(resource: RestResource, preview?: Preview): Route[] {
  const { path, singular, plural, verbs, kind, actions = [], hasLogs = false } = resource;
  const collection = `/${path}`;
  const one = `/${path}/{id}`;
  const own = kind.namespaced ? [namespace] : [];
  const tag = path;
  const thing = kind.kind;
  const found = { 200: { description: `The ${thing}.`, schema: singular } };
  const made: Readonly<Record<Verb, Route>> = {
    list: {
      method: 'GET',
      path: collection,
      operationId: `list${plural}`,
      tag,
      summary: `List objects of the kind ${thing}, or follow their changes as server-sent events.`,
      parameters: [...own, ...listParameters(resource)],
      responses: { 200: { description: 'A page of them. With `watch=true`, a stream of events.', schema: `${singular}List` } },
      handler: (call) => (wantsEvents(call) ? sendEvents(resource, call) : listSome(resource, call)),
    },
    get: {
      method: 'GET',
      path: one,
      operationId: `get${singular}`,
      tag,
      summary: `Read a ${thing}.`,
      parameters: own,
      responses: found,
      handler: (call) => getOne(resource, call),
    },
    create: {
      method: 'POST',
      path: collection,
      operationId: `create${singular}`,
      tag,
      summary: `Create a ${thing}.`,
      parameters: [...own, idempotencyKey, ...(preview ? [flag('dryRun', preview.description)] : [])],
      body: `${singular}Input`,
      responses: {
        ...(preview && { 200: { description: 'The plan, if `dryRun` is set.', schema: preview.schema } }),
        201: { description: `The new ${thing}.`, schema: singular },
      },
      handler: (call) => (preview !== undefined && truth(call.query, 'dryRun') ? preview.handler(call) : createOne(resource, call)),
    },
    replace: {
      method: 'PUT',
      path: one,
      operationId: `replace${singular}`,
      tag,
      summary: `Replace the labels and the fields of a ${thing}.`,
      parameters: [...own, ifMatch],
      body: `${singular}Input`,
      responses: found,
      handler: (call) => replaceOne(resource, call),
    },
    patch: {
      method: 'PATCH',
      path: one,
      operationId: `patch${singular}`,
      tag,
      summary: `Change some fields of a ${thing}.`,
      parameters: [...own, ifMatch],
      body: `${singular}Patch`,
      responses: found,
      handler: (call) => patchOne(resource, call),
    },
    delete: {
      method: 'DELETE',
      path: one,
      operationId: `delete${singular}`,
      tag,
      summary: `Delete a ${thing}.`,
      parameters: [...own, ifMatch],
      responses: { 202: { description: 'It ends, and is gone after that.', schema: singular }, 204: { description: 'It is gone.' } },
      handler: (call) => deleteOne(resource, call),
    },
  };
  return [
    ...verbs.map((verb) => made[verb]),
    ...actions.map(
      (action): Route => ({
        method: 'POST',
        path: `${one}/${action.name}`,
        operationId: `${action.name}${singular}`,
        tag,
        summary: action.summary,
        parameters: [...own, ifMatch],
        responses: found,
        handler: (call) => act(resource, action, call),
      }),
    ),
    ...(hasLogs ? [logsRoute(resource, own)] : []),
  ];
}

function listParameters({ phases }: RestResource): Parameter[] {
  return [
    { name: 'limit', description: 'Length of a page.', schema: { type: 'integer', minimum: 1, maximum: largestPage, default: 100 } },
    { name: 'continue', description: 'Goes on behind an earlier page.', schema: { type: 'string' } },
    { name: 'label', description: 'Selector of labels, such as `team=vision,stage!=test`.', schema: { type: 'string' } },
    ...(phases ? [{ name: 'phase', description: 'Only those in this phase.', schema: { type: 'string', enum: [...phases] } }] : []),
    flag('watch', 'Sends changes as server-sent events, as with `Accept: text/event-stream`.'),
    {
      name: 'Last-Event-ID',
      description: 'Goes on behind this event.',
      schema: { type: 'string' },
      place: 'header',
    },
  ];
}

function logsRoute(resource: RestResource, own: readonly Parameter[]): Route {
  return {
    method: 'GET',
    path: `/${resource.path}/{id}/logs`,
    operationId: `get${resource.singular}Logs`,
    tag: resource.path,
    summary: `Read the output of a ${resource.kind.kind}.`,
    parameters: [
      ...own,
      flag('follow', 'Goes on with new output until the program ends.'),
      flag('timestamps', 'Begins every line with its time.'),
      flag('previous', 'The output before the last restart.'),
      whole('tail', 'Only so many of the last lines.'),
      whole('since_seconds', 'Only output of the last seconds.'),
      whole('limit_bytes', 'At most so many bytes.'),
    ],
    responses: { 200: { description: 'The output.', type: 'text/plain' } },
    isStream: true,
    handler: (call) => sendLogs(resource, call),
  };
}
