import {
  gpuNodeKind,
  type KindDefinition,
  type NodeTask,
  newObject,
  nodeEnrollmentKind,
  nodeNamespace,
  nodeScriptKind,
  nodeTaskKind,
} from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { fleet } from './product.ts';
import { makeNodeNamespace } from './testing/pretended-agents.ts';

const namespace = nodeNamespace('n1');
let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud({ products: [{ ...fleet, controllers: [] }], tenants: 0 });
  const kinds = [gpuNodeKind, nodeEnrollmentKind, nodeScriptKind, nodeTaskKind];
  await vi.waitFor(() => Promise.all(kinds.map((kind) => cloud.platform.resource(kind).list())), { timeout: 20_000, interval: 30 });
  await makeNodeNamespace(cloud.platform, 'n1');
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

async function refusal(kind: KindDefinition, spec: object, name = 'refused'): Promise<string> {
  const metadata = { name, ...(kind.namespaced && { namespace }) };
  const object = newObject(kind, { metadata, spec } as never) as KubeObject;
  return cloud.platform
    .resource(kind)
    .in(kind.namespaced ? namespace : undefined)
    .create(object, { dryRun: true })
    .then(
      () => 'accepted',
      (error: Error) => error.message,
    );
}

const hash = 'a'.repeat(64);

describe('a specification that makes no sense is refused, and the message names the field', () => {
  test.each([
    [{}, 'spec.type: Required value'],
    [{ type: 'dance' }, 'spec.type: Unsupported value: "dance"'],
    [{ type: 'gpu.inspect' }, 'must have gpuInspect if the type is gpu.inspect, and only then'],
    [
      { type: 'gpu.inspect', gpuInspect: {}, nodeClean: { allocation: 'a' } },
      'must have nodeClean if the type is node.clean, and only then',
    ],
    [{ type: 'gpu.inspect', gpuInspect: {}, deadline: 'soon' }, 'spec.deadline'],
    [{ type: 'gpu.inspect', gpuInspect: {}, attempt: 0 }, 'spec.attempt'],
    [{ type: 'gpu.inspect', gpuInspect: {}, secret: 'Not A Name' }, 'spec.secret'],
    [{ type: 'gpu.inspect', gpuInspect: { deep: 'very' } }, 'spec.gpuInspect.deep'],
    [{ type: 'gpu.accept', gpuAccept: {} }, 'must have forget, clear or both'],
    [{ type: 'gpu.accept', gpuAccept: { forget: [] } }, 'spec.gpuAccept.forget'],
    [{ type: 'gpu.accept', gpuAccept: { clear: [''] } }, 'spec.gpuAccept.clear[0]'],
    [{ type: 'process.run', processRun: { script: '../sh' } }, 'spec.processRun.script'],
    [{ type: 'process.run', processRun: { script: 'a', sha256: 'short' } }, 'spec.processRun.sha256'],
    [{ type: 'file.write', fileWrite: { path: 'etc/motd', content: '' } }, 'spec.fileWrite.path'],
    [{ type: 'file.write', fileWrite: { path: '/etc/motd', content: '', mode: '9999' } }, 'spec.fileWrite.mode'],
    [{ type: 'package.ensure', packageEnsure: { names: [] } }, 'spec.packageEnsure.names'],
    [{ type: 'package.ensure', packageEnsure: { names: ['--force'] } }, 'spec.packageEnsure.names[0]'],
    [
      { type: 'service.ensure', serviceEnsure: { name: 'a', command: ['a'], script: 'a' } },
      'a service has a command or a script, not both',
    ],
    [{ type: 'service.ensure', serviceEnsure: { name: 'a', arguments: ['a'] } }, 'sha256 and arguments are those of a script'],
    [{ type: 'probe.tcp', probeTcp: { port: 0 } }, 'spec.probeTcp.port'],
    [{ type: 'probe.http', probeHttp: { port: 80, path: 'x' } }, 'spec.probeHttp.path'],
    [{ type: 'probe.command', probeCommand: { script: 'a', interval: 'often' } }, 'spec.probeCommand.interval'],
    [{ type: 'collect.logs', collectLogs: { lines: 0 } }, 'spec.collectLogs.lines'],
    [{ type: 'artifact.fetch', artifactFetch: { sha256: hash, path: '/a', unpack: 'zip' } }, 'spec.artifactFetch.unpack'],
    [{ type: 'node.clean', nodeClean: { allocation: '' } }, 'spec.nodeClean.allocation'],
  ])('NodeTask %j', async (spec, message) => {
    expect(await refusal(nodeTaskKind, spec)).toContain(message);
  });

  test.each([
    ['refused', { pool: 'Not a label' }, 'spec.pool'],
    ['refused', { unschedulable: 'yes' }, 'spec.unschedulable'],
    ['refused', { expectedGPUs: [{ pciBusId: '0000:1b:00.0' }] }, 'spec.expectedGPUs[0].uuid'],
    ['refused', { expectedGPUs: [{ uuid: 'a' }, { uuid: 'a' }] }, 'spec.expectedGPUs[1]: Duplicate value'],
    ['refused', { agent: { upgrades: 'Sometimes' } }, 'spec.agent.upgrades'],
    ['refused', { agent: { requestedAt: 'now' } }, 'spec.agent.requestedAt'],
    ['a.b', {}, 'must have a name of at most 58 lower-case letters, digits and hyphens'],
    ['a'.repeat(59), {}, 'must have a name of at most 58 lower-case letters, digits and hyphens'],
  ])('GPUNode %s %j', async (name, spec, message) => {
    expect(await refusal(gpuNodeKind, spec, name)).toContain(message);
  });

  const expiresAt = '2031-05-06T07:08:09Z';
  test.each([
    [{ secretHash: hash, expiresAt }, 'spec.node: Required value'],
    [{ node: 'Not A Name', secretHash: hash, expiresAt }, 'spec.node'],
    [{ node: 'a'.repeat(59), secretHash: hash, expiresAt }, 'spec.node'],
    [{ node: 'a', expiresAt }, 'spec.secretHash: Required value'],
    [{ node: 'a', secretHash: 'secret', expiresAt }, 'spec.secretHash'],
    [{ node: 'a', secretHash: hash }, 'spec.expiresAt: Required value'],
    [{ node: 'a', secretHash: hash, expiresAt: 'tomorrow' }, 'spec.expiresAt'],
  ])('NodeEnrollment %j', async (spec, message) => {
    expect(await refusal(nodeEnrollmentKind, spec)).toContain(message);
  });

  test.each([
    ['refused', {}, 'spec.content: Required value'],
    ['refused', { content: 'echo hello' }, 'spec.content'],
    ['refused', { content: `#!/bin/sh\n${'x'.repeat(262_144)}` }, 'spec.content: Too long'],
    ['a.b', { content: '#!/bin/sh\n' }, 'must have a name of at most 63 lower-case letters, digits and hyphens'],
  ])('NodeScript %s %#', async (name, spec, message) => {
    expect(await refusal(nodeScriptKind, spec, name)).toContain(message);
  });
});

test('the type of a task, and the node and secret of an enrolment, stay as they are', async () => {
  const tasks = cloud.platform.resource<NodeTask>(nodeTaskKind).in(namespace);
  const task = { metadata: { name: 'changed', namespace }, spec: { type: 'gpu.inspect', gpuInspect: {} } };
  await tasks.create(newObject(nodeTaskKind, task as never) as NodeTask);
  const other = { spec: { type: 'node.clean', gpuInspect: null, nodeClean: { allocation: 'a' } } };
  await expect(tasks.patch('changed', { type: 'merge', patch: other })).rejects.toThrow('is immutable');
  const enrollments = cloud.platform.resource(nodeEnrollmentKind);
  const spec = { node: 'a', secretHash: hash, expiresAt: '2031-05-06T07:08:09Z' };
  await enrollments.create(newObject(nodeEnrollmentKind, { metadata: { name: 'changed' }, spec } as never) as KubeObject);
  for (const patch of [{ spec: { node: 'b' } }, { spec: { secretHash: 'b'.repeat(64) } }])
    await expect(enrollments.patch('changed', { type: 'merge', patch })).rejects.toThrow('is immutable');
});
