import { healthReport, modernSchema, phaseReport, problemCodes, usageGroups } from '@capstan/api';
import { isObject, type Json, type JsonObject } from '@capstan/machinery';
import { restField } from '../resources/mapping.ts';
import type { RestResource } from '../resources/resource.ts';

export const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

const text = (description: string, more: JsonObject = {}): JsonObject => ({ type: 'string', description, ...more });
const count = (description: string): JsonObject => ({ type: 'integer', description, minimum: 0 });
const labels: JsonObject = {
  type: 'object',
  description: 'Labels, by which lists can be filtered.',
  additionalProperties: { type: 'string' },
};

/** The schemas of a resource: as it is read, created or replaced, patched and listed. */
export function resourceSchemas(resource: RestResource): JsonObject {
  const { singular, kind, phases, verbs } = resource;
  const { spec, status } = kind.versions[kind.version]!;
  const { properties = {}, required = [] } = spec === undefined ? {} : plain(modernSchema(spec.json));
  const fields: JsonObject = Object.fromEntries(Object.entries(properties as JsonObject).map(([name, one]) => [restField(name), one]));
  const withDefault = Object.keys(fields).filter((name) => isObject(fields[name]) && 'default' in fields[name]);
  const needed = (required as string[]).map(restField);
  const read: JsonObject = {
    type: 'object',
    description: kind.description,
    required: ['id', 'name', 'uid', 'workspace', 'createdAt', 'version', ...needed, ...withDefault],
    properties: {
      id: text('The same as `name`.'),
      name: text('Name, unique in its namespace.'),
      uid: text('Differs from that of every other object, also of one with the same name.'),
      workspace: text('The workspace, as the request named it.'),
      ...(kind.namespaced && { namespace: text('Namespace.') }),
      ...(phases
        ? { phase: text('State in one word.', { enum: [...phases] }) }
        : hasPhase(status?.json) && { phase: text('State in one word.') }),
      labels,
      createdAt: text('Time of the creation.', { format: 'date-time' }),
      createdBy: text('User who created it.'),
      deletingSince: text('Set while the object ends.', { format: 'date-time' }),
      generation: count('Counts changes of the fields below.'),
      version: text('Changes with every change of the object. Send it back, or the ETag in If-Match, to change only what you have read.'),
      ...fields,
      ...(status && { status: plain(modernSchema(status.json)) }),
    },
  };
  const name = text('Name. By default the server chooses one.', { maxLength: 253 });
  const version = text('Refuse the change if the object has another version by now.');
  return {
    [singular]: read,
    ...(verbs.some((verb) => verb === 'create' || verb === 'replace') && {
      [`${singular}Input`]: {
        type: 'object',
        ...(needed.length > 0 && { required: needed }),
        properties: { name, labels, version, ...fields },
      },
    }),
    ...(verbs.includes('patch') && {
      [`${singular}Patch`]: {
        type: 'object',
        description: 'Members that change. Null removes one.',
        properties: {
          labels: nullable(labels),
          version,
          ...Object.fromEntries(Object.entries(fields).map(([key, one]) => [key, nullable(one)])),
        },
      },
    }),
    [`${singular}List`]: {
      type: 'object',
      required: ['items', 'version'],
      properties: {
        items: { type: 'array', items: reference(singular) },
        version: text('Version of the list.'),
        continue: text('Present if there may be more: send it as the parameter `continue`.'),
      },
    },
  };
}

function hasPhase(status: JsonObject | undefined): boolean {
  return isObject(status?.['properties']) && 'phase' in status['properties'];
}

/** Fields of a patch are partial too, so only their kind is described. */
function nullable(schema: Json | undefined): JsonObject {
  const { type, description } = isObject(schema) ? schema : {};
  return { ...(typeof type === 'string' && { type: [type, 'null'] }), ...(description !== undefined && { description }) };
}

/** Without the keywords that only Kubernetes knows. */
function plain(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !key.startsWith('x-kubernetes-'))
      .map(([key, value]) => [
        key,
        Array.isArray(value) ? value.map((one) => (isObject(one) ? plain(one) : one)) : isObject(value) ? plain(value) : value,
      ]),
  );
}

const modelCount: JsonObject = {
  type: 'object',
  required: ['model', 'total', 'booked', 'free', 'outOfService'],
  properties: {
    model: text('Model of the GPUs.'),
    migProfile: text('MIG profile, if these are instances of divided GPUs.'),
    total: count('All of them.'),
    booked: count('Those that allocations have.'),
    free: count('Those that the next order can get.'),
    outOfService: count('Not booked, and no order gets them: broken, missing, or on a node that is silent, cordoned or being removed.'),
  },
};

const amounts: JsonObject = {
  gpuSeconds: { type: 'number', description: 'GPUs, times the seconds in which somebody had them.' },
  coreSeconds: { type: 'number', description: 'The same of cores.' },
  memoryGibSeconds: { type: 'number', description: 'The same of memory, in GiB.' },
  storageGibSeconds: { type: 'number', description: 'The same of the sizes of storages, in GiB.' },
  allocations: count('Number of allocations that have a share in it.'),
};
const amountNames = Object.keys(amounts);

/** Schemas that belong to no kind. */
export const ownSchemas: JsonObject = {
  Problem: {
    type: 'object',
    description: 'Why a request failed, as in RFC 9457.',
    required: ['type', 'title', 'status', 'code', 'detail', 'requestId'],
    properties: {
      type: text('Identifies the code.'),
      title: text('The code in words.'),
      status: { type: 'integer', description: 'HTTP status.' },
      code: text('For programs. Codes are never renamed.', { enum: Object.keys(problemCodes) }),
      detail: text('The error in this request.'),
      requestId: text('Id of the request, which the log of the server has too.'),
      reason: text('Reason of the API server, such as `AlreadyExists`.'),
      errors: {
        type: 'array',
        description: 'Fields that were refused.',
        items: {
          type: 'object',
          required: ['field', 'message'],
          properties: { field: text('Field of the body.'), message: text('The error in it.') },
        },
      },
    },
  },
  Health: {
    type: 'object',
    required: ['status', 'apiserver'],
    properties: {
      status: text('Whether requests can be served.', { enum: ['ok', 'unavailable'] }),
      apiserver: text('`ok`, or why the API server cannot be used.'),
    },
  },
  OpenApiDocument: { type: 'object', description: 'A document of OpenAPI 3.1.' },
  UsageAmounts: { type: 'object', required: amountNames, properties: amounts },
  Usage: {
    type: 'object',
    description: 'The use between two times. Allocations that last count until now.',
    required: ['from', 'to', 'groupBy', 'items', 'total'],
    properties: {
      from: text('First moment.', { format: 'date-time' }),
      to: text('Last moment.', { format: 'date-time' }),
      groupBy: text('The amounts are added up by this.', { enum: [...usageGroups] }),
      items: {
        type: 'array',
        items: {
          type: 'object',
          required: ['key', ...amountNames],
          properties: { key: text('The workspace, offering, model or day. Empty for orders without an offering or GPUs.'), ...amounts },
        },
      },
      total: reference('UsageAmounts'),
    },
  },
  StockUnitsInput: {
    type: 'object',
    required: ['offering', 'count'],
    properties: {
      offering: text('Name of the offering.'),
      count: { type: 'integer', description: 'How many warm units it should have at least.', minimum: 1, maximum: 1024 },
    },
  },
  AppPlan: {
    type: 'object',
    description: 'The steps that an operation would have. Nothing was done.',
    required: ['steps'],
    properties: {
      members: {
        type: 'array',
        description: 'The members that the placement asks for.',
        items: { type: 'string' },
      },
      steps: {
        type: 'array',
        items: {
          type: 'object',
          required: ['id', 'title', 'stage'],
          properties: {
            id: text('Identifies the step within the operation.'),
            title: text('Its purpose, for people.'),
            stage: count('Steps of one stage run side by side, after all of the stage before.'),
            member: text('The member on whose node it runs.'),
            phase: text('The phase of the instance while it runs.'),
          },
        },
      },
    },
  },
  AppOperationRequest: {
    type: 'object',
    required: ['type'],
    properties: {
      name: text('Name. By default the server chooses one.', { maxLength: 253 }),
      type: text('An operation of every app, or of this one: one of `status.allowedActions` of the instance.'),
      member: text('The member, for an operation on one.'),
      parameters: { type: 'object', description: 'Parameters of the operation.' },
      dryRun: { type: 'boolean', description: 'Only plan: the answer has the steps, and nothing is done.', default: false },
    },
  },
  AppPhaseReport: plain(modernSchema(phaseReport.json)),
  AppHealthReport: plain(modernSchema(healthReport.json)),
  AppReportReceipt: {
    type: 'object',
    required: ['expiresAt'],
    properties: {
      expiresAt: text('When the report stops to count.', { format: 'date-time' }),
      token: text('In place of the token of the request, which expires soon.'),
      tokenExpiresAt: text('When that one expires.', { format: 'date-time' }),
    },
  },
  AppAccess: {
    type: 'object',
    description: 'How an instance is used.',
    properties: {
      endpoints: {
        type: 'array',
        items: { type: 'object', required: ['name', 'address'], properties: { name: text('Purpose.'), address: text('Address.') } },
      },
      kubeconfig: { type: 'boolean', description: 'Whether a kubeconfig can be had.' },
      shell: text('The member that gives shells.'),
      notes: { type: 'array', items: text('A note.') },
    },
  },
  Kubeconfig: { type: 'object', description: 'A kubeconfig, which `kubectl` reads as JSON, too.' },
  AppEvents: {
    type: 'object',
    required: ['items'],
    properties: {
      items: {
        type: 'array',
        items: {
          type: 'object',
          required: ['type', 'reason', 'message', 'count'],
          properties: {
            type: text('`Normal` or `Warning`.'),
            reason: text('A word for programs.'),
            message: text('Details for people.'),
            count: count('How often it happened.'),
            firstSeen: text('First time.', { format: 'date-time' }),
            lastSeen: text('Last time.', { format: 'date-time' }),
          },
        },
      },
    },
  },
  ModelCount: modelCount,
  Inventory: {
    type: 'object',
    description: 'GPUs of the fleet by model.',
    required: ['models', 'pools'],
    properties: {
      models: { type: 'array', items: reference('ModelCount') },
      pools: {
        type: 'array',
        items: {
          type: 'object',
          required: ['pool', 'nodes', 'readyNodes', 'models'],
          properties: {
            pool: text('Name of the pool.'),
            nodes: count('Nodes in the pool.'),
            readyNodes: count('Those that are ready.'),
            models: { type: 'array', items: reference('ModelCount') },
          },
        },
      },
    },
  },
};
