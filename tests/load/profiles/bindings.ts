import { setTimeout as sleep } from 'node:timers/promises';
import { ask, mustAsk } from '../client/ask.ts';
import { requestText } from '../client/connection.ts';
import { type LoadResult, Pool } from '../client/pool.ts';
import { processorSeconds } from '../measure/processor.ts';
import { CountingWatch } from '../tenancy/counting-watch.ts';
import { bindingsIn, exportsIn, Offer, schemasIn } from '../tenancy/exports.ts';
import {
  type Footprint,
  footprint,
  makeParent,
  makeWorkspace,
  revisionOf,
  untilForgotten,
  untilNone,
  untilReady,
  workspaceBody,
  workspacesIn,
} from '../tenancy/workspaces.ts';
import type { Amounts, Measurement, Profile, Subject } from './profile.ts';

const clients = 32;
const gets = 4_000;
/** Lists of a view: as many again before, so that compiled code is measured. */
const lists = 300;
/** One in this many workspaces is bound to the first export, whose provider's view is measured. */
const popular = 10;
/** How long a server may take to settle, or to forget. */
const rest = 5_000;
const patience = 400;

/** Many exports, and many more workspaces that are each bound to one of them: the cost of a binding, and whether its memory is freed. */
export const bindings: Profile = async (subject, amounts) => {
  const run = await Run.begin(subject, amounts);
  await run.offer();
  await run.measureAlone();
  await run.makeWorkspaces();
  await run.bind();
  await run.use();
  await run.view();
  await run.unbind();
  await run.remove();
  return run.rows;
};

class Run {
  readonly rows: Measurement[] = [];
  readonly #subject: Subject;
  readonly #amounts: Amounts;
  readonly #parent: string;
  readonly #provider: string;
  readonly #offers: readonly Offer[];
  readonly #count: number;
  readonly #empty: Footprint;
  readonly #metrics: number;

  private constructor(options: {
    subject: Subject;
    amounts: Amounts;
    parent: string;
    provider: string;
    empty: Footprint;
    metrics: number;
  }) {
    this.#subject = options.subject;
    this.#amounts = options.amounts;
    this.#parent = options.parent;
    this.#provider = options.provider;
    this.#empty = options.empty;
    this.#metrics = options.metrics;
    this.#count = options.amounts.count ?? 10_000;
    this.#offers = Array.from({ length: options.amounts.definitions ?? 500 }, (_, index) => new Offer(index));
  }

  static async begin(subject: Subject, amounts: Amounts): Promise<Run> {
    const { address } = subject;
    const metrics = await metricsBytes(subject);
    const parent = await makeParent(address);
    const provider = await makeWorkspace(address, { parent: parent.path, name: 'provider' });
    return new Run({ subject, amounts, parent: parent.path, provider: provider.path, empty: footprint(subject), metrics });
  }

  async offer(): Promise<void> {
    const { length } = this.#offers;
    await this.#all(length, (index) => ({ path: schemasIn(this.#provider), body: this.#offers[index]!.schemaBody() }));
    await this.#all(length, (index) => ({ path: exportsIn(this.#provider), body: this.#offers[index]!.exportBody() }));
  }

  /** The cost of reading with a single binding of a single workspace. */
  async measureAlone(): Promise<void> {
    const { path } = await makeWorkspace(this.#subject.address, { parent: this.#parent, name: 'alone' });
    using watch = await this.#watchBound();
    await mustAsk(this.#subject.address, { method: 'POST', path: bindingsIn(path), body: this.#offers[0]!.bindingBody(this.#provider) });
    await watch.until(1, patience);
    await mustAsk(this.#subject.address, {
      method: 'POST',
      path: this.#offers[0]!.objectsIn(path),
      body: this.#offers[0]!.objectBody('one'),
    });
    await this.#read(path);
    this.#latencies('gets of a bound kind, one binding', await this.#read(path));
  }

  async makeWorkspaces(): Promise<void> {
    await this.#timed(`${this.#count} workspaces: created and ready`, async () => {
      await this.#all(this.#count, (index) => ({ path: workspacesIn(this.#parent), body: workspaceBody(`w-${index}`) }));
      await untilReady(this.#subject.address, this.#parent);
    });
  }

  async bind(): Promise<void> {
    await sleep(rest);
    const before = footprint(this.#subject);
    const what = `${this.#count} bindings to ${this.#offers.length} exports`;
    using watch = await this.#watchBound();
    await this.#timed(`${what}: bound`, async () => {
      await this.#all(this.#count, (index) => ({
        path: bindingsIn(this.#workspace(index)),
        body: this.#offerOf(index).bindingBody(this.#provider),
      }));
      await watch.until(this.#count, patience);
    });
    await this.#timed(`${what}: first read of each`, () =>
      this.#all(this.#count, (index) => ({ path: `${this.#offerOf(index).objectsIn(this.#workspace(index))}` })),
    );
    await sleep(rest);
    const after = footprint(this.#subject);
    const each = (now: number, then: number): number => (1024 * (now - then)) / this.#count;
    this.#row(`${what}: memory per binding`, each(after.memory, before.memory), 'KiB');
    this.#row(`${what}: store per binding`, each(after.store, before.store), 'KiB');
    this.#row('workspace, binding and share of exports: memory each', each(after.memory, this.#empty.memory), 'KiB');
    this.#row('workspace, binding and share of exports: store each', each(after.store, this.#empty.store), 'KiB');
    this.#row('growth of the metrics', (await metricsBytes(this.#subject)) - this.#metrics, 'count');
  }

  async use(): Promise<void> {
    await this.#timed('objects of bound kinds, one in each workspace: created', () =>
      this.#all(this.#count, (index) => ({
        path: this.#offerOf(index).objectsIn(this.#workspace(index)),
        body: this.#offerOf(index).objectBody('one'),
      })),
    );
    this.#latencies(`gets of a bound kind in one of ${this.#count}`, await this.#read(this.#workspace(0)));
  }

  /** The first provider's view of the objects of all its consumers. */
  async view(): Promise<void> {
    const [offer] = this.#offers;
    const { address } = this.#subject;
    const path = offer!.viewFrom(this.#provider);
    const consumers = Array.from({ length: this.#count }, (_, index) => index).filter((index) => this.#offerOf(index) === offer);
    const { text } = await mustAsk(address, { method: 'GET', path });
    const found = (JSON.parse(text) as { items: unknown[] }).items.length;
    if (found < consumers.length) throw new Error(`the view shows ${found} of ${consumers.length} objects`);
    await this.#lists(path, lists);
    const what = `view of ${consumers.length} consumers: list`;
    const processor = processorSeconds(this.#subject.pids);
    this.#row(`${what}: p50`, (await this.#lists(path, lists)).latencies.quantile(0.5), 'ms');
    this.#row(`${what}: processor time each`, (1000 * (processorSeconds(this.#subject.pids) - processor)) / lists, 'ms');
    using watch = await CountingWatch.open(address, `${path}?watch=true&resourceVersion=${await revisionOf(address)}`, (event) =>
      event.includes('"name":"two"'),
    );
    await this.#timed(
      `view of ${consumers.length} consumers: events of a watch`,
      async () => {
        await this.#all(consumers.length, (at) => ({
          path: offer!.objectsIn(this.#workspace(consumers[at]!)),
          body: offer!.objectBody('two'),
        }));
        await watch.until(consumers.length, patience);
      },
      consumers.length,
    );
  }

  async unbind(): Promise<void> {
    const { address } = this.#subject;
    const path = `/clusters/*/apis/apis.kcp.io/v1alpha2/apibindings?watch=true&resourceVersion=${await revisionOf(address)}`;
    const isGone = (event: string): boolean => event.startsWith('{"type":"DELETED"') && event.includes('"name":"offer"');
    using watch = await CountingWatch.open(address, path, isGone);
    await this.#timed('bindings with an object each: deleted', async () => {
      await this.#all(this.#count, (index) => ({ method: 'DELETE', path: `${bindingsIn(this.#workspace(index))}/offer` }));
      await watch.until(this.#count, patience);
    });
  }

  async remove(): Promise<void> {
    const { address } = this.#subject;
    const collection = workspacesIn(this.#parent);
    const one = performance.now();
    await mustAsk(address, { method: 'DELETE', path: `${collection}/w-0` });
    while ((await ask(address, { method: 'GET', path: `${collection}/w-0` })).status !== 404) await sleep(10);
    this.#row('deletion of one workspace', performance.now() - one, 'ms');
    await this.#timed('workspaces: deleted', async () => {
      await mustAsk(address, { method: 'DELETE', path: collection });
      await untilNone(address, collection);
    });
    const [, parent] = this.#parent.split(':');
    await mustAsk(address, { method: 'DELETE', path: `${workspacesIn('root')}/${parent!}` });
    await untilNone(address, `${workspacesIn('root')}?fieldSelector=metadata.name%3D${parent!}`);
    await sleep(rest);
    this.#row('memory not freed at once', footprint(this.#subject).memory - this.#empty.memory, 'MB');
    const forgotten = await untilForgotten(address, await revisionOf(address), patience);
    await sleep(rest);
    const what = forgotten ? 'after compaction' : 'without compaction';
    const after = footprint(this.#subject);
    this.#row(`memory not freed ${what}`, after.memory - this.#empty.memory, 'MB');
    this.#row(`store not freed ${what}`, after.store - this.#empty.store, 'MB');
  }

  #workspace(index: number): string {
    return `${this.#parent}:w-${index}`;
  }

  #offerOf(index: number): Offer {
    return this.#offers[index % popular === 0 ? 0 : index % this.#offers.length]!;
  }

  #watchBound(): Promise<CountingWatch> {
    const isBound = (event: string): boolean => event.includes('"phase":"Bound"') && event.includes('"name":"offer"');
    return revisionOf(this.#subject.address).then((revision) =>
      CountingWatch.open(
        this.#subject.address,
        `/clusters/*/apis/apis.kcp.io/v1alpha2/apibindings?watch=true&resourceVersion=${revision}`,
        isBound,
      ),
    );
  }

  /** One list after the other, on one connection. */
  async #lists(path: string, count: number): Promise<LoadResult> {
    const { address } = this.#subject;
    using pool = await Pool.open(address, 1);
    const result = await pool.run({ clients: 1, count, seconds: this.#amounts.seconds }, () =>
      requestText({ method: 'GET', path, token: address.token }),
    );
    if (result.errors > 0) throw new Error(`${result.errors} of ${count} lists failed; the first: ${result.firstError}`);
    return result;
  }

  #read(workspace: string): Promise<LoadResult> {
    const path = `${this.#offers[0]!.objectsIn(workspace)}/one`;
    return this.#all(gets, () => ({ path }));
  }

  /** Requests that must all succeed: with a body they create, without they read, unless they name a method. */
  async #all(count: number, request: (index: number) => { method?: 'DELETE'; path: string; body?: string }): Promise<LoadResult> {
    const { address } = this.#subject;
    // Opened each time: a server closes idle connections.
    using pool = await Pool.open(address, clients);
    const { token } = address;
    const result = await pool.run({ clients, count, seconds: this.#amounts.seconds }, (index) => {
      const { method, path, body } = request(index);
      return requestText({ method: method ?? (body === undefined ? 'GET' : 'POST'), path, token, ...(body !== undefined && { body }) });
    });
    if (result.errors > 0 || result.requests < count) {
      throw new Error(
        `${result.errors} of ${count} requests such as ${JSON.stringify(request(0))} failed; the first: ${result.firstError}`,
      );
    }
    return result;
  }

  /** Two rows: how many per second, and the processor time each took in all measured processes. */
  async #timed(what: string, work: () => Promise<unknown>, count = this.#count): Promise<void> {
    const processor = processorSeconds(this.#subject.pids);
    const began = performance.now();
    await work();
    this.#row(what, count / ((performance.now() - began) / 1000), 'per second', 'higher');
    this.#row(`${what}: processor time each`, (1000 * (processorSeconds(this.#subject.pids) - processor)) / count, 'ms');
  }

  #latencies(what: string, { latencies }: LoadResult): void {
    this.#row(`${what}: p50`, latencies.quantile(0.5), 'ms');
    this.#row(`${what}: p99`, latencies.quantile(0.99), 'ms');
  }

  #row(what: string, value: number, unit: Measurement['unit'], better: Measurement['better'] = 'lower'): void {
    process.stderr.write(`${what}: ${value.toFixed(2)} ${unit}\n`);
    this.rows.push({ what, value, unit, better });
  }
}

async function metricsBytes({ address }: Subject): Promise<number> {
  return (await mustAsk(address, { method: 'GET', path: '/metrics' })).bytes;
}
