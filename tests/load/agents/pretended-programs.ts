import type { RoomState, UnitDriver, UnitRoom } from '@capstan/node-agent';

interface Program {
  state: RoomState;
  readonly ended: PromiseWithResolvers<void>;
}

const timeNow = (): string => new Date().toISOString();
const nothing = (): never => {
  throw new Error('pretended programs have no streams');
};

/** A driver whose programs run until they are stopped, and are no processes. Everything else of an agent is real: its records, reports and watches. */
export class PretendedPrograms implements UnitDriver {
  readonly name = 'exec';
  readonly isolation = 'full';
  readonly #programs = new Map<string, Program>();

  async prepare(): Promise<void> {}

  async start({ id }: UnitRoom): Promise<void> {
    this.#programs.set(id, {
      state: { phase: 'running', pid: 1 + this.#programs.size, startedAt: timeNow() },
      ended: Promise.withResolvers(),
    });
  }

  async find(id: string): Promise<RoomState | undefined> {
    return this.#programs.get(id)?.state;
  }

  async changed(id: string, _incarnation: number, signal: AbortSignal): Promise<void> {
    const program = this.#programs.get(id);
    if (program?.state.phase !== 'running' || signal.aborted) return;
    const left = Promise.withResolvers<void>();
    const leave = (): void => left.resolve();
    signal.addEventListener('abort', leave, { once: true });
    await Promise.race([program.ended.promise, left.promise]);
    signal.removeEventListener('abort', leave);
  }

  async stop(id: string): Promise<void> {
    const program = this.#programs.get(id);
    if (program?.state.phase !== 'running') return;
    const { startedAt } = program.state;
    program.state = { phase: 'exited', code: 143, reason: 'Error', startedAt, finishedAt: timeNow() };
    program.ended.resolve();
  }

  async log(): Promise<undefined> {
    return undefined;
  }

  readonly exec = nothing;
  readonly attach = nothing;
  readonly connect = nothing;

  async usage(): Promise<undefined> {
    return undefined;
  }

  async remove(id: string): Promise<void> {
    this.#programs.delete(id);
  }

  async list(): Promise<string[]> {
    return [...this.#programs.keys()];
  }
}
