import { execFile } from 'node:child_process';
import { access, constants, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UnitProblem } from '../driver.ts';
import { forwardExceptions, iptablesJumps, iptablesRules, nftRules, nftTable } from './firewall.ts';
import type { Pair } from './pairs.ts';
import { formatAddress, freeRange, parseRange, type Range } from './ranges.ts';
import { unitResolver } from './resolver.ts';

export interface NetworkOptions {
  /** Name of the bridge; at most 15 characters. */
  readonly bridge?: string;
  /** Folders in which `ip`, `nft` and `iptables` are searched, first come first served. */
  readonly programs?: readonly string[];
  /** In milliseconds: how long the network stays after its last unit. To make it again takes longer than everything else in a start. */
  readonly idle?: number;
  /** In milliseconds: how often the rules are made again. Somebody who reloads a firewall deletes them. */
  readonly repairInterval?: number;
}

/** In milliseconds. */
const usual = { idle: 600_000, repairInterval: 30_000 };

/** If so many repairs were missed, as while the agent was suspended, the next start waits for one. */
const missedRepairs = 10;

const programs = ['ip', 'nft', 'iptables'];
const usualFolders = ['/usr/sbin', '/sbin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/local/bin'];

interface Tools {
  readonly ip: string;
  readonly nft?: string;
  readonly iptables?: string;
}

/**
 * The network of isolated units: a bridge whose ports cannot reach each other, and rules that let them out, but not to the node. Everything
 * that belongs to one unit disappears with its network namespace. All drivers of a machine share one: only one change is made at a time, so
 * that no unit starts on a bridge whose rules are being deleted.
 */
export class IsolatedNetwork implements AsyncDisposable {
  readonly #options: Required<NetworkOptions>;
  /** Units that are prepared, start, run or have ended, and were not removed. */
  readonly #users = new Set<string>();
  /** The latest look at the programs, if nothing was missing. */
  #seen: { readonly tools: Tools; readonly since: number } | undefined;
  #ready: { readonly pairs: Promise<Pair[]>; readonly since: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #leaving: NodeJS.Timeout | undefined;
  #isRepairing = false;
  /** The latest change. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: NetworkOptions = {}) {
    this.#options = { bridge: 'capstan0', programs: usualFolders, ...usual, ...options };
  }

  /** Why units have no way out of their network; undefined if they have one. Never less isolation than they asked for. */
  async notice(): Promise<string | undefined> {
    const missing = await this.#missing();
    if (missing.length === 0) return undefined;
    return `no access to other machines, which needs ${missing.join(' and ')} on the node: apt-get install ${missing.join(' ')}`;
  }

  /** Makes sure that everything is there for a unit until it is released, and returns what the launcher needs. Rejects with a UnitProblem. */
  ensure(unit: string): Promise<Pair[]> {
    this.keep(unit);
    const { repairInterval } = this.#options;
    const known = this.#ready;
    if (known !== undefined && performance.now() - known.since < missedRepairs * repairInterval) return known.pairs;
    return this.#renew();
  }

  /** A unit uses the network: from now on, rules that somebody deletes come back. */
  keep(unit: string): void {
    this.#users.add(unit);
    clearTimeout(this.#leaving);
    this.#timer ??= setInterval(() => void this.#repair(), this.#options.repairInterval).unref();
  }

  /** The unit was removed. The network goes a while after the last one. */
  release(unit: string): void {
    this.#users.delete(unit);
    clearTimeout(this.#leaving);
    if (this.#users.size === 0) this.#leaving = setTimeout(() => void this.tearDown().catch(() => {}), this.#options.idle).unref();
  }

  /** The next start looks at everything again. */
  forget(): void {
    this.#ready = undefined;
    this.#seen = undefined;
  }

  /** Deletes the bridge and the rules, unless a unit uses them. */
  tearDown(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#users.size > 0) return;
      clearTimeout(this.#leaving);
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.forget();
      const { bridge } = this.#options;
      const tools = await this.#tools().catch(() => undefined);
      if (tools === undefined || !(await exists(tools.ip, bridge)) || !(await this.#isUnused(tools.ip))) return;
      await run(tools.ip, ['link', 'delete', bridge]).catch(() => {});
      if (tools.nft !== undefined) await run(tools.nft, ['delete', 'table', 'inet', nftTable(bridge)]).catch(() => {});
      if (tools.iptables !== undefined) await removeIptables(tools.iptables, bridge);
    });
  }

  /** Programs go on, and warm units wait for the next agent: only without any of them, the network goes as well. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#leaving);
    clearInterval(this.#timer);
    await this.tearDown();
  }

  /** Interfaces disappear a moment after the last process of their unit. */
  async #isUnused(ip: string): Promise<boolean> {
    for (let tries = 0; tries < 50 && this.#users.size === 0; tries++) {
      const ports = await run(ip, ['-j', 'link', 'show', 'master', this.#options.bridge]).catch(() => '[]');
      if ((JSON.parse(ports || '[]') as unknown[]).length === 0) return true;
      await sleep(20);
    }
    return false;
  }

  #renew(): Promise<Pair[]> {
    const ready = { pairs: this.#inTurn(() => this.#make()), since: performance.now() };
    this.#ready = ready;
    ready.pairs.catch(() => {
      if (this.#ready === ready) this.forget();
    });
    return ready.pairs;
  }

  /** Units that start meanwhile need not wait: what was found the last time is as good as it was a moment before. */
  async #repair(): Promise<void> {
    if (this.#isRepairing) return;
    this.#isRepairing = true;
    const [before, since] = [this.#ready, performance.now()];
    try {
      const pairs = await this.#inTurn(async () => (this.#timer === undefined ? undefined : this.#make()));
      if (pairs !== undefined && this.#ready === before) this.#ready = { pairs: Promise.resolve(pairs), since };
    } catch {
      this.forget();
    } finally {
      this.#isRepairing = false;
    }
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(change);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #make(): Promise<Pair[]> {
    const tools = await this.#tools();
    try {
      const range = await this.#bridge(tools.ip);
      const resolver = await unitResolver();
      await writeFile('/proc/sys/net/ipv4/ip_forward', '1');
      await writeFile(`/proc/sys/net/ipv6/conf/${this.#options.bridge}/disable_ipv6`, '1').catch(() => {});
      await this.#rules(tools, { bridge: this.#options.bridge, range: formatRange(range), resolvers: resolver.servers });
      return [
        ['ip', tools.ip],
        ['bridge', this.#options.bridge],
        ['gateway', formatAddress(range.base + 1)],
        ['prefix', range.prefix],
        ['linkSize', await linkSize(tools.ip)],
        ['resolver', resolver.text],
      ];
    } catch (error) {
      if (error instanceof UnitProblem) throw error;
      throw new UnitProblem('NetworkUnavailable', `the network for units could not be set up: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  async #bridge(ip: string): Promise<Range> {
    const { bridge } = this.#options;
    const existing = await bridgeRange(ip, bridge);
    if (existing !== undefined) return existing;
    const routes = JSON.parse((await run(ip, ['-j', '-4', 'route', 'show', 'table', 'all'])) || '[]') as { readonly dst?: string }[];
    const range = freeRange(routes.map((route) => route.dst ?? ''));
    if (range === undefined)
      throw new UnitProblem('NetworkUnavailable', 'all address ranges for units overlap with routes of this machine');
    await run(ip, ['link', 'add', bridge, 'type', 'bridge']).catch(ignoreExisting);
    await run(ip, ['address', 'add', `${formatAddress(range.base + 1)}/${range.prefix}`, 'dev', bridge]).catch(ignoreExisting);
    await run(ip, ['link', 'set', bridge, 'up']);
    return (await bridgeRange(ip, bridge)) ?? range;
  }

  async #rules(tools: Tools, rules: Parameters<typeof nftRules>[0]): Promise<void> {
    if (tools.nft !== undefined) {
      await run(tools.nft, ['-f', '-'], nftRules(rules));
      if (tools.iptables !== undefined) await exceptForwarding(tools.iptables, rules.bridge);
      return;
    }
    const iptables = tools.iptables!;
    await run(`${iptables}-restore`, ['--noflush', '--wait'], iptablesRules(rules));
    for (const { table, chain, target } of iptablesJumps(rules.bridge)) {
      const jump = ['-w', '-t', table];
      await run(iptables, [...jump, '-C', chain, '-j', target]).catch(() => run(iptables, [...jump, '-I', chain, '1', '-j', target]));
    }
  }

  async #tools(): Promise<Tools> {
    const tools = await this.#look();
    if (!isComplete(tools)) throw new UnitProblem('NetworkUnavailable', 'the programs that make networks were removed from the node');
    return tools;
  }

  /** Packages of Debian that have the missing programs. */
  async #missing(): Promise<string[]> {
    const { ip, nft, iptables } = await this.#look();
    return [...(ip === undefined ? ['iproute2'] : []), ...(nft === undefined && iptables === undefined ? ['nftables'] : [])];
  }

  /** Every start asks, so programs that are there are looked for as often as the rules. One that is missing may be installed at any time. */
  async #look(): Promise<Partial<Tools>> {
    const since = performance.now();
    if (this.#seen !== undefined && since - this.#seen.since < this.#options.repairInterval) return this.#seen.tools;
    const [ip, nft, iptables] = await Promise.all(programs.map((name) => this.#find(name)));
    const tools = { ...(ip !== undefined && { ip }), ...(nft !== undefined && { nft }), ...(iptables !== undefined && { iptables }) };
    this.#seen = isComplete(tools) ? { tools, since } : undefined;
    return tools;
  }

  async #find(name: string): Promise<string | undefined> {
    for (const folder of this.#options.programs) {
      const file = join(folder, name);
      const usable = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (usable) return file;
    }
    return undefined;
  }
}

function isComplete(tools: Partial<Tools>): tools is Tools {
  return tools.ip !== undefined && (tools.nft !== undefined || tools.iptables !== undefined);
}

async function exceptForwarding(iptables: string, bridge: string): Promise<void> {
  const chain = await run(iptables, ['-w', '-S', 'FORWARD']).catch(() => '');
  if (!chain.includes('-P FORWARD DROP')) return;
  for (const rule of forwardExceptions(bridge)) {
    await run(iptables, ['-w', '-C', 'FORWARD', ...rule]).catch(() => run(iptables, ['-w', '-I', 'FORWARD', '1', ...rule]));
  }
}

async function removeIptables(iptables: string, bridge: string): Promise<void> {
  for (const rule of forwardExceptions(bridge)) await run(iptables, ['-w', '-D', 'FORWARD', ...rule]).catch(() => {});
  for (const { table, chain, target } of iptablesJumps(bridge)) {
    await run(iptables, ['-w', '-t', table, '-D', chain, '-j', target]).catch(() => {});
    for (const action of ['-F', '-X']) await run(iptables, ['-w', '-t', table, action, target]).catch(() => {});
  }
}

async function exists(ip: string, bridge: string): Promise<boolean> {
  return run(ip, ['link', 'show', 'dev', bridge]).then(
    () => true,
    () => false,
  );
}

interface LinkDescription {
  readonly addr_info?: readonly { readonly family: string; readonly local: string; readonly prefixlen: number }[];
}

async function bridgeRange(ip: string, bridge: string): Promise<Range | undefined> {
  const text = await run(ip, ['-j', 'address', 'show', 'dev', bridge]).catch(() => '[]');
  const links = JSON.parse(text) as readonly LinkDescription[];
  const found = links.flatMap((link) => link.addr_info ?? []).find((address) => address.family === 'inet');
  return found === undefined ? undefined : parseRange(`${found.local}/${found.prefixlen}`);
}

function formatRange(range: Range): string {
  return `${formatAddress(range.base)}/${range.prefix}`;
}

/** The largest packet of the way out. */
async function linkSize(ip: string): Promise<number> {
  const [route] = JSON.parse((await run(ip, ['-j', '-4', 'route', 'show', 'default'])) || '[]') as readonly { readonly dev?: string }[];
  if (route?.dev === undefined) return 1500;
  const [link] = JSON.parse(await run(ip, ['-j', 'link', 'show', 'dev', route.dev])) as readonly { readonly mtu?: number }[];
  return Math.min(link?.mtu ?? 1500, 9000);
}

function ignoreExisting(error: Error): void {
  if (!/exists/i.test(error.message)) throw error;
}

async function run(program: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { timeout: 10_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}: ${stderr.trim() || error.message}`));
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });
}
