import {
  type GPUUnit,
  gpuUnitKind,
  type NodeScript,
  type NodeTask,
  newObject,
  nodeNamespace,
  nodeScriptKind,
  nodeTaskKind,
} from '@capstan/api';
import { Child, capstanProgram, output } from '@capstan/testbed';
import { ControlPlane } from '../agents/control-plane.ts';
import { makeProject, projectKubeconfig } from '../stock/project.ts';
import { eventually, type Peer, printTime, timeIn, timeInFile, writeTime } from './peer.ts';

const node = 'n1';
const script = 'load';

export interface CapstanPeers extends AsyncDisposable {
  readonly tasks: Peer;
  readonly units: Peer;
}

/** A `capstan up`, and one agent that runs tasks and units. */
export async function startPeers(): Promise<CapstanPeers> {
  const plane = await ControlPlane.start();
  let agent: Child | undefined;
  const stop = async (): Promise<void> => {
    await agent?.stop(20_000);
    await plane[Symbol.asyncDispose]();
  };
  try {
    const [command = '', ...args] = await plane.enroll(node);
    const more = ['--state-dir', plane.directory.join(node), '--allow-unisolated'];
    const started = new Child('capstan node-agent', [process.execPath, capstanProgram, command, ...args, ...more]);
    agent = started;
    await started.waitUntil('its tunnel is open', () => started.output.includes('is open'));
    const content = '#!/bin/sh\nexec /bin/sh -c "$1"\n';
    await plane.platform
      .resource<NodeScript>(nodeScriptKind)
      .create(newObject(nodeScriptKind, { metadata: { name: script }, spec: { content } }));
    const both = { servers: plane.all, agent: started.pid };
    return { tasks: { ...both, ...tasksOf(plane) }, units: { ...both, ...(await unitsOf(plane)) }, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const capstan = (kubeconfig: string, ...args: string[]): Promise<string> =>
  output(process.execPath, [capstanProgram, ...args], { environment: { KUBECONFIG: kubeconfig } });

type Orders = Pick<Peer, 'command' | 'request' | 'started'>;

function tasksOf(plane: ControlPlane): Orders {
  const tasks = plane.platform.resource<NodeTask>(nodeTaskKind).in(nodeNamespace(node));
  const startOf = (name: string): string => plane.directory.join(`${name}.started`);
  const argumentsOf = (name: string): string[] => [writeTime(startOf(name))];
  return {
    command: async (name) => {
      const parameters = ['--set', `script=${script}`, '--set', `arguments=${JSON.stringify(argumentsOf(name))}`];
      await capstan(plane.kubeconfig, 'task', 'run', node, 'process.run', ...parameters, '--name', name);
    },
    request: async (name) => {
      const spec = { type: 'process.run', processRun: { script, arguments: argumentsOf(name) } } as const;
      await tasks.create(newObject(nodeTaskKind, { metadata: { name }, spec }) as NodeTask);
    },
    started: (name) => timeInFile(startOf(name)),
  };
}

async function unitsOf(plane: ControlPlane): Promise<Orders> {
  const tenant = await makeProject(plane);
  const kubeconfig = projectKubeconfig(plane);
  const units = tenant.resource<GPUUnit>(gpuUnitKind).in('default');
  // Without a limit of processor time, as jobs of raw_exec have none.
  const memory = '64Mi';
  const program = ['/bin/sh', '-c', printTime];
  return {
    command: async (name) => {
      const flags = ['--detach', '--no-upload', '--quiet', '--memory', memory, '--name', name];
      await capstan(kubeconfig, 'run', ...flags, '--', ...program);
    },
    request: async (name) => {
      const metadata = { name, namespace: 'default' };
      await units.create(newObject(gpuUnitKind, { metadata, spec: { resources: { memory }, command: program } }) as GPUUnit);
    },
    // The file system of a unit is not that of the machine, so its output has the time.
    started: (name) =>
      eventually(`${name} ends`, 50, async () => {
        const { status } = await units.get(name);
        if (status?.phase === 'Failed') throw new Error(`${name}: ${status.message}`);
        const line = status?.members?.[0]?.lastLines?.[0];
        return status?.phase === 'Succeeded' && line !== undefined ? timeIn(line) : undefined;
      }),
  };
}
