import type { AppOperation, AppStep } from '@capstan/api';
import type { Cell, Operation } from '../cell.ts';
import { eventually } from '../eventually.ts';
import type { CommonFault } from '../faults.ts';
import type { Machine } from '../machine.ts';
import type { GatedMachine, Place, SlurmWorld } from './world.ts';

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
  drain: 'slurm-node-drain',
  drained: 'slurm-node-drained',
  clean: 'slurm-clean',
};
/** Steps whose program runs again and again. */
const repeated = new Set(['registered', 'drained']);
/** A step whose output is a value for later steps, so that nothing else may be in it. */
const values = new Set(['credential']);

/** The operations, by the types that they have in the platform. */
const types = { deploy: 'deploy', repair: 'repair', add: 'change', remove: 'change', decommission: 'decommission' } as const;
export type SlurmOperation = keyof typeof types & Operation;
export const slurmOperations = Object.keys(types) as readonly SlurmOperation[];

/** A step with the machine that it runs on. */
interface Placed {
  readonly id: string;
  readonly verb: string;
  readonly place: Place;
  readonly gated: GatedMachine;
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

interface FaultyOptions {
  readonly name: string;
  readonly operation: SlurmOperation;
}

/** An operation of an instance that meets a fault in every step. */
export class FaultyOperation {
  readonly #world: SlurmWorld;
  readonly #fault: SlurmFault;
  readonly #instance: string;
  readonly #operation: SlurmOperation;
  readonly #seen = new Map<string, Seen>();
  readonly #hit = new Map<string, Placed>();
  /** How often each program had begun before. */
  readonly #counts = new Map<string, number>();
  #members: ReadonlyMap<string, Place> = new Map();
  /** The operations before it have sequences up to this. */
  #after = 0;

  constructor(world: SlurmWorld, fault: SlurmFault, { name, operation }: FaultyOptions) {
    this.#world = world;
    this.#fault = fault;
    this.#instance = name;
    this.#operation = operation;
  }

  async run(begin: () => Promise<void>): Promise<void> {
    const { deadline } = this.#fault;
    this.#after = await this.#world.tenant.lastSequence(this.#instance);
    this.#holdAll();
    if (deadline !== undefined) await this.#world.hurry(deadline);
    await (this.#canPause ? this.#stageByStage(begin) : this.#remove(begin));
    if (deadline !== undefined) await this.#world.rest();
    // Programs that this operation did not need.
    for (const { marks } of this.#gated) for (const program of Object.values(programs)) marks.unset(`hold-${program}`);
  }

  get #canPause(): boolean {
    return this.#operation !== 'decommission';
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
    const members = await this.#world.members();
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
    this.#members = this.#members.size > 0 ? this.#members : await this.#world.members();
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
    for (const { gated, program } of steps) if (program !== undefined) gated.marks.unset(`hold-${program}`);
    await begin();
  }

  async #held(steps: readonly Placed[], begin: () => Promise<void>): Promise<void> {
    const { mark, deadline } = this.#fault;
    if (mark !== undefined) for (const { gated, program } of steps) gated.marks.set(`${mark}-${program}`);
    await begin();
    for (const { gated, program, id } of steps)
      await eventually(`${id} begins`, async () => gated.marks.count(`begin ${program}`) > this.#before(gated, program!) || undefined);
    if (this.#canPause) await this.#world.pause(this.#instance, true);
    if (deadline !== undefined)
      await eventually('the deadline', async () => {
        await this.#look();
        return steps.every(({ id }) => this.#seen.get(id)!.reasons.size > 0) || undefined;
      });
    await this.#inject(machinesOf(steps));
    for (const { gated, program } of steps) gated.marks.unset(`hold-${program}`);
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
    if (mark !== undefined) for (const { gated, program } of steps) gated.marks.unset(`${mark}-${program}`);
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
        if (operation === undefined) return this.#operation === 'decommission' || undefined;
        const steps = (operation.status?.steps ?? []).filter((step) => step.stage === stage);
        if (operation.status?.state === 'failed' && mayRetry) {
          mayRetry = false;
          for (const { id } of steps) this.#seen.get(id)!.wasRetried = true;
          await this.#world.tenant.ask(this.#instance, 'retry');
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
    const operation = await this.#world.tenant.operation(this.#instance, types[this.#operation], this.#after);
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
    const place = this.#members.get(member) ?? 'controller';
    // Some ids have the name of a second member, which the step is about.
    const verb = [...this.#members.keys()].reduce((text, name) => text.replace(`-${name}`, ''), id);
    return { id, verb, place, gated: this.#world.machines[place], program: this.#programOf(verb, place) };
  }

  /** Packages that are there need no apt-get. */
  #programOf(verb: string, place: Place): string | undefined {
    const isNew = this.#operation === 'deploy' || place === 'added';
    return verb === 'install' && !isNew ? undefined : programs[verb];
  }

  #applies({ program, verb }: Placed): boolean {
    if (this.#fault.mark === undefined) return true;
    return program !== undefined && !(values.has(verb) && this.#fault.deadline === undefined) && !repeated.has(verb);
  }

  get #gated(): readonly GatedMachine[] {
    return Object.values(this.#world.machines);
  }

  #before({ machine }: GatedMachine, program: string): number {
    return this.#counts.get(`${machine.name} ${program}`) ?? 0;
  }

  #holdAll(): void {
    for (const { machine, marks } of this.#gated)
      for (const program of Object.values(programs)) {
        marks.set(`hold-${program}`);
        this.#counts.set(`${machine.name} ${program}`, marks.count(`begin ${program}`));
      }
  }

  cells(): Cell[] {
    return [...this.#hit.values()].map(({ id, verb, place, gated, program }): Cell => {
      const { reasons, step, wasRetried } = this.#seen.get(id) ?? { reasons: new Set(), step: undefined, wasRetried: false };
      const attempts = step?.attempts ?? 1;
      const isCounted = program !== undefined && !repeated.has(verb);
      const begun = isCounted ? gated.marks.count(`begin ${program}`) - this.#before(gated, program) : attempts;
      const isDone = step?.state === 'succeeded';
      return {
        step: { operation: this.#operation, name: `${verb} (${place})` },
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

const machinesOf = (steps: readonly Placed[]): Machine[] => [...new Set(steps.map(({ gated }) => gated.machine))];
