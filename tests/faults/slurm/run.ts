import type { AppOperation, AppStep } from '@capstan/api';
import type { Cell, Operation } from '../cell.ts';
import { eventually } from '../eventually.ts';
import { type CommonFault, commonFaults } from '../faults.ts';
import type { Machine } from './machine.ts';
import type { SlurmWorld } from './world.ts';

/** The programs of steps, by the first words of their ids. Other steps are done by the agent itself. */
const programs: Readonly<Record<string, string>> = {
  prepare: 'slurm-prepare',
  install: 'apt-get',
  configure: 'slurm-configure',
  accounts: 'slurm-accounts',
  credential: 'slurm-credential',
  'check-credential': 'slurm-check-credential',
  reconfigure: 'slurm-reconfigure',
  unstick: 'slurm-unstick',
  registered: 'slurm-node-registered',
  'follow-gpus': 'slurm-node-follow-gpus',
  clean: 'slurm-clean',
};
/** Steps whose program runs again and again. */
const repeated = new Set(['registered']);
/** A step whose output is a value for later steps, so that nothing else may be in it. */
const values = new Set(['credential']);

type Type = Extract<Operation, 'deploy' | 'repair' | 'decommission'>;

/** A step with the machine that it runs on. */
interface Placed {
  readonly id: string;
  readonly verb: string;
  readonly component: string;
  readonly machine: Machine;
  readonly program: string | undefined;
}

/** Everything that was seen of a step. */
interface Seen {
  readonly reasons: Set<string>;
  step: AppStep | undefined;
  wasRetried: boolean;
}

/** Something that goes wrong in every step. */
export interface SlurmFault extends CommonFault {
  /** For the faults that need a program: its mark begins with this word. */
  readonly mark?: 'stubborn' | 'flood';
  /** How long a step may take, if the fault is that it takes longer. */
  readonly deadline?: string;
}

const nothing = async (): Promise<void> => {};

export const slurmFaults: readonly SlurmFault[] = [
  ...commonFaults,
  { name: 'step ignores SIGTERM', mark: 'stubborn', deadline: '2s', inject: nothing, recover: nothing },
  { name: 'a gigabyte of output', mark: 'flood', inject: nothing, recover: nothing },
];

let count = 0;

/** Deploys Slurm, repairs its node and removes it again, with the fault in every step. */
export async function runFault(world: SlurmWorld, fault: SlurmFault): Promise<Cell[]> {
  const name = `s${++count}`;
  const deploy = new FaultyOperation(world, fault, { name, type: 'deploy' });
  const problems: string[] = [];
  await deploy.run(() => world.create(name));
  const runsJobs = async (after: Type): Promise<void> => {
    await world.pause(name, false);
    const problem = await eventually('a job', () => settledProblem(world, name), { within: 300_000, every: 500 }).catch(String);
    if (problem !== '') problems.push(`after ${after}: ${problem}`);
  };
  await runsJobs('deploy');
  // A repair runs the same programs, which are counted.
  const deployed = deploy.cells();
  const repair = new FaultyOperation(world, fault, { name, type: 'repair' });
  await repair.run(() => world.repair(name));
  await runsJobs('repair');
  const repaired = repair.cells();
  const removal = new FaultyOperation(world, fault, { name, type: 'decommission' });
  await removal.run(async () => void (await eventually('the deletion', () => world.instances().delete(name))));
  await eventually('the instance is gone', async () => (await world.find(name)) === undefined || undefined, { within: 300_000 }).catch(
    (error: unknown) => problems.push(String(error)),
  );
  const remains = await world.remains();
  if (remains !== '') problems.push(`still runs: ${remains}`);
  const cells = [...deployed, ...repaired, ...removal.cells()];
  const last = cells.at(-1)!;
  return [...cells.slice(0, -1), { ...last, faults: [...last.faults, ...problems] }];
}

/** Empty if a job runs. Undefined while the deployment goes on. */
async function settledProblem(world: SlurmWorld, name: string): Promise<string | undefined> {
  const instance = await world.find(name);
  if (instance?.status?.state !== 'running') return undefined;
  return (await world.problem()) ?? '';
}

class FaultyOperation {
  readonly #world: SlurmWorld;
  readonly #fault: SlurmFault;
  readonly #instance: string;
  readonly #type: Type;
  readonly #seen = new Map<string, Seen>();
  readonly #hit = new Map<string, Placed>();
  /** How often each program had begun before. */
  readonly #counts = new Map<string, number>();
  #members: ReadonlyMap<string, 'controller' | 'compute'> = new Map();

  constructor(world: SlurmWorld, fault: SlurmFault, { name, type }: { readonly name: string; readonly type: Type }) {
    this.#world = world;
    this.#fault = fault;
    this.#instance = name;
    this.#type = type;
  }

  async run(begin: () => Promise<void>): Promise<void> {
    const { deadline } = this.#fault;
    this.#holdAll();
    if (deadline !== undefined) await this.#world.hurry(deadline);
    await (this.#canPause ? this.#stageByStage(begin) : this.#remove(begin));
    if (deadline !== undefined) await this.#world.rest();
  }

  get #canPause(): boolean {
    return this.#type !== 'decommission';
  }

  async #stageByStage(begin: () => Promise<void>): Promise<void> {
    await begin();
    const first = await eventually('the plan', async () => (await this.#steps()) ?? undefined);
    for (const stage of [...new Set(first.map((step) => step.stage))].sort((one, other) => one - other)) {
      if (await this.#isOver(stage)) continue;
      await this.#episode(stage, () => this.#world.pause(this.#instance, false));
    }
  }

  /** A removal cannot be paused, but its first steps begin with it, and the last ones can be held. */
  async #remove(begin: () => Promise<void>): Promise<void> {
    const members = await eventually('the members', () => this.#world.components());
    this.#members = members;
    await this.#instant(
      [...members].map(([member]) => this.#place({ id: `stop-${member}`, member } as AppStep)),
      begin,
    );
    const steps = await eventually('the removal', async () => (await this.#steps()) ?? undefined);
    const last = Math.max(...steps.map(({ stage }) => stage));
    const first = steps.filter(({ stage }) => stage < last).map((step) => this.#place(step));
    for (const step of first) if (this.#applies(step)) this.#hit.set(step.id, step);
    await this.#episode(last, async () => {});
  }

  /** Lets the steps of a stage begin, with the fault, and waits until they have ended. */
  async #episode(stage: number, begin: () => Promise<void>): Promise<void> {
    const steps = (await eventually('the steps', () => this.#steps())).filter((step) => step.stage === stage);
    this.#members = this.#members.size > 0 ? this.#members : await eventually('the members', () => this.#world.components());
    const placed = steps.map((step) => this.#place(step)).filter((step) => this.#applies(step));
    for (const step of placed) this.#hit.set(step.id, step);
    const held = placed.filter(({ program }) => program !== undefined);
    if (placed.length === 0)
      await this.#release(
        steps.map((step) => this.#place(step)),
        begin,
      );
    else if (held.length > 0) await this.#held(held, begin);
    else await this.#instant(placed, begin);
    await this.#finish(stage);
  }

  async #release(steps: readonly Placed[], begin: () => Promise<void>): Promise<void> {
    for (const { machine, program } of steps) if (program !== undefined) machine.unset(`hold-${program}`);
    await begin();
  }

  async #held(steps: readonly Placed[], begin: () => Promise<void>): Promise<void> {
    const { mark, deadline } = this.#fault;
    if (mark !== undefined) for (const { machine, program } of steps) machine.set(`${mark}-${program}`);
    await begin();
    for (const { machine, program, id } of steps)
      await eventually(`${id} begins`, async () => machine.count(`begin ${program}`) > this.#before(machine, program!) || undefined);
    if (this.#canPause) await this.#world.pause(this.#instance, true);
    if (deadline !== undefined)
      await eventually('the deadline', async () => {
        await this.#look();
        return steps.every(({ id }) => this.#seen.get(id)!.reasons.size > 0) || undefined;
      });
    await this.#inject(machinesOf(steps));
    for (const { machine, program } of steps) machine.unset(`hold-${program}`);
    await this.#recover(steps);
  }

  /** Steps without a program take no time: the fault begins with them. */
  async #instant(steps: readonly Placed[], begin: () => Promise<void>): Promise<void> {
    const beginAndPause = async (): Promise<void> => {
      await begin();
      if (this.#canPause) {
        await eventually(
          'a step begins',
          async () => {
            const found = await this.#steps();
            return found?.some(({ id, state }) => state !== 'pending' && steps.some((step) => step.id === id)) || undefined;
          },
          { every: 20, within: 10_000 },
        ).catch(() => {});
        await this.#world.pause(this.#instance, true);
      }
    };
    if (this.#fault.mark !== undefined) return begin();
    if (this.#fault.hitsPlane === true) {
      await beginAndPause();
      await this.#inject(machinesOf(steps));
    } else await Promise.all([beginAndPause(), this.#inject(machinesOf(steps))]);
    await this.#recover(steps);
  }

  async #inject(machines: readonly Machine[]): Promise<void> {
    const { inject, hitsPlane } = this.#fault;
    await Promise.all((hitsPlane === true ? machines.slice(0, 1) : machines).map((machine) => inject(machine)));
    await this.#look().catch(() => {});
  }

  async #recover(steps: readonly Placed[]): Promise<void> {
    const { recover, hitsPlane, mark } = this.#fault;
    if (mark !== undefined) for (const { machine, program } of steps) machine.unset(`${mark}-${program}`);
    const machines = machinesOf(steps);
    for (const machine of hitsPlane === true ? machines.slice(0, 1) : machines) await recover(machine);
  }

  /** Waits until all steps of a stage have ended. Operations that fail are retried once per stage. */
  async #finish(stage: number): Promise<void> {
    let mayRetry = true;
    await eventually(
      `stage ${stage} ends`,
      async () => {
        const operation = await this.#look();
        if (operation === undefined) return this.#type === 'decommission' || undefined;
        const steps = (operation.status?.steps ?? []).filter((step) => step.stage === stage);
        if (operation.status?.state === 'failed' && mayRetry) {
          mayRetry = false;
          for (const { id } of steps) this.#seen.get(id)!.wasRetried = true;
          await this.#world.retry(this.#instance);
        }
        // Attempts after the first do not begin while the instance is paused.
        if (steps.some(({ state }) => state === 'pending') && this.#canPause) await this.#world.pause(this.#instance, false);
        return steps.every(isOver) || undefined;
      },
      { within: 300_000, every: 200 },
    ).catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
  }

  /** Reads the operation, and remembers what its status says. */
  async #look(): Promise<AppOperation | undefined> {
    const operation = await this.#world.operation(this.#instance, this.#type);
    for (const step of operation?.status?.steps ?? []) {
      const seen = this.#seen.get(step.id) ?? { reasons: new Set<string>(), step, wasRetried: false };
      seen.step = step;
      if (step.message?.includes('silent') === true) seen.reasons.add('waits for the silent node');
      for (const { code, step: id } of operation?.status?.errors ?? []) if (id === step.id) seen.reasons.add(code);
      this.#seen.set(step.id, seen);
    }
    return operation;
  }

  async #steps(): Promise<readonly AppStep[] | undefined> {
    return (await this.#look())?.status?.steps;
  }

  async #isOver(stage: number): Promise<boolean> {
    const steps = await eventually('the steps', () => this.#steps());
    return steps.filter((step) => step.stage === stage).every(isOver);
  }

  #place({ id, member = '' }: AppStep): Placed {
    const component = this.#members.get(member) ?? 'controller';
    const verb = id.endsWith(`-${member}`) ? id.slice(0, -member.length - 1) : id;
    // Packages that are there need no apt-get.
    const program = this.#type === 'repair' && verb === 'install' ? undefined : programs[verb];
    return { id, verb, component, machine: this.#world.machines[component], program };
  }

  #applies({ program, verb }: Placed): boolean {
    if (this.#fault.mark === undefined) return true;
    return program !== undefined && !(values.has(verb) && this.#fault.deadline === undefined) && !repeated.has(verb);
  }

  #before(machine: Machine, program: string): number {
    return this.#counts.get(`${machine.name} ${program}`) ?? 0;
  }

  #holdAll(): void {
    for (const machine of Object.values(this.#world.machines))
      for (const program of Object.values(programs)) {
        machine.set(`hold-${program}`);
        this.#counts.set(`${machine.name} ${program}`, machine.count(`begin ${program}`));
      }
  }

  cells(): Cell[] {
    return [...this.#hit.values()].map(({ id, verb, component, machine, program }): Cell => {
      const { reasons, step, wasRetried } = this.#seen.get(id) ?? { reasons: new Set(), step: undefined, wasRetried: false };
      const attempts = step?.attempts ?? 1;
      const isCounted = program !== undefined && !repeated.has(verb);
      const begun = isCounted ? machine.count(`begin ${program}`) - this.#before(machine, program) : attempts;
      const isDone = step?.state === 'succeeded';
      return {
        step: { operation: this.#type, name: `${verb} (${component})` },
        fault: this.#fault.name,
        outcome: isDone ? (wasRetried ? 'completed by retry' : 'completed') : 'stuck',
        reasons: [...reasons] as string[],
        begun,
        attempts,
        faults: begun > attempts ? [`the step began ${begun} times in ${attempts} attempts`] : [],
      };
    });
  }
}

const isOver = ({ state }: AppStep): boolean => state !== 'pending' && state !== 'running';

const machinesOf = (steps: readonly Placed[]): Machine[] => [...new Set(steps.map(({ machine }) => machine))];
