import { setTimeout as sleep } from 'node:timers/promises';
import { agentFolder, type Machine } from './machine.ts';
import type { World } from './world.ts';

/** Something that can go wrong in the steps of every app. */
export interface CommonFault {
  readonly name: string;
  readonly inject: (machine: Machine) => Promise<void>;
  readonly recover: (machine: Machine) => Promise<void>;
  readonly needsClock?: boolean;
  /** Whether it hits the control plane, however many nodes there are. */
  readonly hitsPlane?: true;
}

/** Something that goes wrong while a step runs. */
export interface Fault {
  readonly name: string;
  /** Before the operation begins. */
  readonly prepare?: (world: World, step: string) => void;
  /** While the step runs. It ends meanwhile, if it can, before `recover`. */
  readonly inject: (world: World) => Promise<void>;
  readonly recover: (world: World, step: string) => Promise<void>;
  /** How long a step may take, if the fault is that it takes longer. */
  readonly deadline?: string;
  readonly needsClock?: boolean;
  /** In milliseconds: how long the operation may take to end, if that is long. */
  readonly patience?: number;
}

const nothing = async (): Promise<void> => {};
const hour = 3_600;

export const commonFaults: readonly CommonFault[] = [
  { name: 'agent killed', inject: ({ agent }) => agent.kill(), recover: (machine) => machine.startAgent() },
  {
    name: 'agent paused',
    async inject(machine) {
      await machine.agent.pause();
      await machine.nodeIs('Unknown');
    },
    async recover(machine) {
      machine.agent.resume();
      await machine.nodeIs('True');
    },
  },
  {
    name: 'network cut',
    async inject(machine) {
      await machine.host.cut();
      await machine.nodeIs('Unknown');
    },
    async recover(machine) {
      await machine.host.restore();
      await machine.nodeIs('True');
    },
  },
  { name: 'control plane killed', hitsPlane: true, inject: ({ plane }) => plane.kill(), recover: ({ plane }) => plane.start() },
  { name: 'control plane restored', hitsPlane: true, inject: ({ plane }) => plane.lose(), recover: ({ plane }) => plane.restore() },
  { name: 'controllers killed', hitsPlane: true, inject: ({ plane }) => plane.killControllers(), recover: nothing },
  {
    name: 'disk full',
    inject: async ({ host }) => host.fillDisk(agentFolder),
    async recover({ host }) {
      // Long enough for the agent to find out.
      await sleep(1_500);
      await host.freeDisk(agentFolder);
    },
  },
  {
    name: 'clock jumps',
    needsClock: true,
    async inject({ host }) {
      for (const hours of [30, -30]) {
        host.setClock(hours * hour);
        await sleep(1_500);
      }
    },
    recover: async ({ host }) => host.setClock(0),
  },
];

export const faults: readonly Fault[] = [
  ...commonFaults.map(
    (fault): Fault => ({ ...fault, inject: ({ machine }) => fault.inject(machine), recover: ({ machine }) => fault.recover(machine) }),
  ),
  { name: 'a copied agent', inject: (world) => world.copyAgent(), recover: (world) => world.unlock() },
  { name: 'a replayed token', inject: (world) => world.replayToken(), recover: nothing },
  {
    name: 'step ignores SIGTERM',
    deadline: '2s',
    prepare: (world, step) => world.marks.set(`stubborn-${step}`),
    inject: nothing,
    recover: async (world, step) => world.marks.unset(`stubborn-${step}`),
  },
  {
    name: 'a gigabyte of output',
    patience: 300_000,
    prepare: (world, step) => world.marks.set(`flood-${step}`),
    inject: nothing,
    recover: async (world, step) => world.marks.unset(`flood-${step}`),
  },
];
