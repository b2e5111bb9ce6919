import type { Transport } from '@capstan/client';
import type { Status } from '@capstan/machinery';
import { Refusal } from '../guard/refusal.ts';
import { userOf } from '../identity/identity.ts';
import { checkPath } from '../relay/relay.ts';
import type { Target } from '../relay/target.ts';
import type { Session } from '../sessions/session.ts';
import { Follow } from './follow.ts';
import type { Sampling, Selection, UpstreamState } from './messages.ts';
import { Pulse } from './pulse.ts';
import { Sampler } from './sampler.ts';

export interface HubLimits {
  /** Lists and samples of one session. */
  readonly sources: number;
  /** In milliseconds: the longest wait before a list that was lost is asked for again. */
  readonly longestWait: number;
  /** Milliseconds of a second between samples; less in tests. */
  readonly second: number;
  /** In milliseconds: how often the API server is asked whether it accepts the token, and how long it may take to answer. */
  readonly pulse: number;
  readonly answerWithin: number;
}

export interface Targets {
  readonly kube: Target;
  readonly rest: Target;
}

/** A tab, as its hub sees it. */
export interface Listener {
  upstream(state: UpstreamState): void;
  /** The API server no longer accepts the token. */
  refused(): void;
}

/** The name of the regular questions among everything that can be lost. */
const pulse = 'pulse';

/** Everything that the tabs of one session follow. Each list and each sample is fetched once, whatever the number of tabs. */
export class Hub implements Disposable {
  readonly #targets: Targets;
  readonly #session: Session;
  readonly #limits: HubLimits;
  readonly #follows = new Map<string, Follow>();
  readonly #samplers = new Map<string, Sampler>();
  readonly #listeners = new Set<Listener>();
  /** The lost servers, and since when. */
  readonly #lost = new Map<string, number>();
  readonly #pulse: Pulse;

  constructor(session: Session, targets: Targets, limits: HubLimits) {
    this.#session = session;
    this.#targets = targets;
    this.#limits = limits;
    this.#pulse = new Pulse({
      ask: async (signal) => userOf(targets.kube.upstream, await session.authorization(), signal),
      every: limits.pulse,
      within: limits.answerWithin,
      onAnswer: () => this.#restored(pulse),
      onSilence: (since) => this.#lose(pulse, since),
      onRefusal: () => this.#refuse(),
    });
  }

  get isUnused(): boolean {
    return this.#listeners.size === 0;
  }

  listen(listener: Listener): void {
    this.#listeners.add(listener);
    if (this.#lost.size > 0) listener.upstream(this.#lostState());
  }

  leave(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  follow(selection: Selection): Follow {
    const name = JSON.stringify([selection.path, selection.labels, selection.fields]);
    return this.#shared(this.#follows, name, () => {
      const { connection, transport } = this.#targets.kube;
      return new Follow(selection, {
        connection,
        transport: authorized(transport, this.#session),
        longestWait: this.#limits.longestWait,
        onUpstream: (state) => (state === 'lost' ? this.#lose(name, Date.now()) : this.#restored(name)),
        onOver: (status) => this.#over(this.#follows, name, status),
      });
    });
  }

  sample({ address }: Sampling): Sampler {
    return this.#shared(this.#samplers, address, () => {
      const path = address.slice('/kube'.length);
      checkPath(path);
      const target = address.startsWith('/kube/') ? this.#targets.kube : this.#targets.rest;
      return new Sampler({
        upstream: target.upstream,
        path,
        authorization: () => this.#session.authorization(),
        onOver: (status) => this.#over(this.#samplers, address, status),
        second: this.#limits.second,
      });
    });
  }

  #shared<T>(all: Map<string, T>, name: string, create: () => T): T {
    const known = all.get(name);
    if (known !== undefined) return known;
    if (this.#follows.size + this.#samplers.size >= this.#limits.sources)
      throw new Refusal('too_many', `Each session can follow ${this.#limits.sources} lists and samples. Remove one first.`);
    const made = create();
    all.set(name, made);
    return made;
  }

  /** Ends what nobody uses any more. */
  tidy(): void {
    for (const all of [this.#follows, this.#samplers] as Map<string, Follow | Sampler>[])
      for (const [name, one] of all) {
        if (!one.isUnused) continue;
        all.delete(name);
        one[Symbol.dispose]();
        this.#restored(name);
      }
  }

  #over(all: Map<string, unknown>, name: string, { code }: Status): void {
    all.delete(name);
    this.#restored(name);
    if (code === 401) this.#refuse();
  }

  #refuse(): void {
    for (const listener of this.#listeners) listener.refused();
  }

  #lose(name: string, since: number): void {
    const isFirst = this.#lost.size === 0;
    if (!this.#lost.has(name)) this.#lost.set(name, since);
    if (isFirst) for (const listener of this.#listeners) listener.upstream(this.#lostState());
  }

  #restored(name: string): void {
    if (!this.#lost.delete(name) || this.#lost.size > 0) return;
    for (const listener of this.#listeners) listener.upstream({ upstream: 'restored' });
  }

  #lostState(): UpstreamState {
    return { upstream: 'lost', since: new Date(Math.min(...this.#lost.values())).toISOString() };
  }

  [Symbol.dispose](): void {
    this.#pulse[Symbol.dispose]();
    for (const one of [...this.#follows.values(), ...this.#samplers.values()]) one[Symbol.dispose]();
    this.#follows.clear();
    this.#samplers.clear();
    this.#listeners.clear();
  }
}

/** The same connections, as the user of the session. Its token may be renewed meanwhile. */
function authorized(transport: Transport, session: Session): Transport {
  return {
    send: async (outgoing) =>
      transport.send({ ...outgoing, headers: { ...outgoing.headers, authorization: await session.authorization() } }),
    [Symbol.dispose]: () => {},
  };
}
