import {
  type Allocation,
  type App,
  type AppInstance,
  type AppMember,
  type AppOperation,
  allocationKind,
  appInstanceKind,
  appKind,
  appMemberKind,
  appOperationKind,
  type GPUNode,
  gpuNodeKind,
  type NodeTask,
  nodeTaskKind,
} from '@capstan/api';
import type { Client } from '@capstan/client';
import { performSteps, WorkspacePaths } from '@capstan/compute';
import { acrossEndpoints, controller, done, type Endpoints, originsOf, type Runnable, requeueAfter } from '@capstan/controller';
import type { FoundAdapter } from '../adapter/finding.ts';
import { outputsThrough, type ReadOutput } from '../keeping/outputs.ts';
import { copiesOf, instancesOf, instancesOn, instancesWith, instanceTasks, namedInstance, nodeConcernsApps } from './copies.ts';
import { decide } from './decide.ts';
import { Memory } from './memory.ts';
import { Work } from './work.ts';

export interface InstancesOptions {
  readonly now?: () => number;
  readonly readOutput?: ReadOutput;
}

interface InstancePlaces extends InstancesOptions {
  readonly tenants: Endpoints;
  readonly platform: Client;
  readonly adapterOf: (app: App) => FoundAdapter;
}

const mostSteps = 400;

/** Instances of all tenants: their members, operations and health, and the tasks on the nodes of their members. */
export function instances({
  tenants,
  platform,
  adapterOf,
  now = Date.now,
  readOutput = outputsThrough(platform),
}: InstancePlaces): Runnable {
  const paths = new WorkspacePaths();
  const memory = new Memory();
  const each = controller('app-instances')
    .for<AppInstance>(appInstanceKind)
    .reads((informers, at) => copiesOf(informers, at(platform)))
    .watches<AppOperation>(appOperationKind, namedInstance)
    .watches<AppMember>(appMemberKind, namedInstance)
    .watches<Allocation>(allocationKind, (allocation, copies) => instancesWith(copies, allocation))
    .watches<NodeTask>(nodeTaskKind, originsOf, { client: platform, ...instanceTasks })
    .watches<GPUNode>(gpuNodeKind, ({ metadata: { name = '' } }, copies) => instancesOn(copies, name), {
      client: platform,
      predicate: nodeConcernsApps,
    })
    .watches<App>(appKind, ({ metadata: { name = '' } }, copies) => instancesOf(copies, name), { client: platform })
    .reconcile(
      async ({ key, object: instance, copies, client, events, signal, wrote }) => {
        if (instance === undefined) return done;
        const { cluster = '' } = key;
        await paths.learn(cluster, client, signal);
        const workspace = paths.pathOf(cluster) ?? cluster;
        const work = new Work(instance, { copies, client, platform, events, wrote, signal, now, workspace, adapterOf, readOutput, memory });
        const waiting = await performSteps(work, { decide, most: mostSteps, subject: `the instance ${instance.metadata.name}` });
        return waiting?.atMost === undefined ? done : requeueAfter(waiting.atMost);
      },
      { concurrency: 16 },
    );
  return acrossEndpoints(tenants, each);
}
