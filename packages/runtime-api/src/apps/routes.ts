import { idempotencyKey, namespace } from '../routes/parameters.ts';
import type { Route } from '../routes/route.ts';
import { readAccess, readEvents, readKubeconfig } from './access.ts';
import { listMembers, listOperations } from './instance.ts';
import { defaultLines, mostLines, readLogs } from './logs.ts';
import { beginOperation } from './operations.ts';
import { reportHealth, reportPhase } from './reports.ts';

const one = '/app-runtime/instances/{id}';
const tag = 'app-runtime/instances';

/** Everything about an instance that is not the instance itself. */
export const appRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${one}/members`,
    operationId: 'readAppInstanceMembers',
    tag,
    summary: 'List the members of an instance: its nodes, their state, health and problems.',
    parameters: [namespace],
    responses: { 200: { description: 'All members.', schema: 'AppMemberList' } },
    handler: listMembers,
  },
  {
    method: 'GET',
    path: `${one}/operations`,
    operationId: 'readAppInstanceOperations',
    tag,
    summary: 'List the operations of an instance with their steps.',
    parameters: [namespace],
    responses: { 200: { description: 'The operations that are kept.', schema: 'AppOperationList' } },
    handler: listOperations,
  },
  {
    method: 'POST',
    path: `${one}/operations`,
    operationId: 'beginAppOperation',
    tag,
    summary: 'Begin an operation, such as `repair` or `retry`. With `dryRun`, answer with its steps instead.',
    parameters: [namespace, idempotencyKey],
    body: 'AppOperationRequest',
    responses: {
      200: { description: 'The plan, if `dryRun` is set.', schema: 'AppPlan' },
      201: { description: 'The operation.', schema: 'AppOperation' },
    },
    handler: beginOperation,
  },
  {
    method: 'POST',
    path: `${one}/report-phase`,
    operationId: 'reportAppInstancePhase',
    tag,
    summary: 'Report the phase of an instance. Only for the account of the instance; it appears in `status.reported` for five minutes.',
    parameters: [namespace],
    body: 'AppPhaseReport',
    responses: { 200: { description: 'The report was stored.', schema: 'AppReportReceipt' } },
    handler: reportPhase,
  },
  {
    method: 'POST',
    path: `${one}/members/{member}/report-health`,
    operationId: 'reportAppMemberHealth',
    tag,
    summary: 'Report the health of a member. Only for the account of the instance; it appears in `status.reported` for five minutes.',
    parameters: [namespace],
    body: 'AppHealthReport',
    responses: { 200: { description: 'The report was stored.', schema: 'AppReportReceipt' } },
    handler: reportHealth,
  },
  {
    method: 'GET',
    path: `${one}/access`,
    operationId: 'getAppInstanceAccess',
    tag,
    summary: 'Read how an instance is used.',
    parameters: [namespace],
    responses: { 200: { description: 'Its addresses and notes.', schema: 'AppAccess' } },
    handler: readAccess,
  },
  {
    method: 'GET',
    path: `${one}/kubeconfig`,
    operationId: 'getAppInstanceKubeconfig',
    tag,
    summary: 'Make a kubeconfig for the Kubernetes API of an instance, with your own token.',
    parameters: [
      namespace,
      {
        name: 'server',
        description: 'Address of the API server as you reach it: `https://capstan.example.com:6443`.',
        schema: { type: 'string' },
      },
    ],
    responses: { 200: { description: 'The kubeconfig, as JSON.', schema: 'Kubeconfig' } },
    handler: readKubeconfig,
  },
  {
    method: 'GET',
    path: `${one}/events`,
    operationId: 'getAppInstanceEvents',
    tag,
    summary: 'List the events of an instance, the newest last.',
    parameters: [namespace],
    responses: { 200: { description: 'The events.', schema: 'AppEvents' } },
    handler: readEvents,
  },
  {
    method: 'GET',
    path: `${one}/logs`,
    operationId: 'getAppInstanceLogs',
    tag,
    summary: 'Read the steps of an operation of an instance, each with the end of its output.',
    parameters: [
      namespace,
      { name: 'operation', description: 'Another operation than the last one.', schema: { type: 'string' } },
      {
        name: 'tail',
        description: 'How many of the last lines of each step.',
        schema: { type: 'integer', minimum: 0, maximum: mostLines, default: defaultLines },
      },
    ],
    responses: { 200: { description: 'The output.', type: 'text/plain' } },
    isStream: true,
    handler: readLogs,
  },
];
