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
  readonly bridge: string;
  /** Folders in which `ip`, `nft` and `iptables` are searched. */
  readonly programs: readonly string[];
}

/** In milliseconds: how long rules are trusted to be there. Somebody who reloads a firewall deletes them. */
const trust = 30_000;

const programs = ['ip', 'nft', 'iptables'];

interface Tools {
  readonly ip: string;
  readonly nft?: string;
  readonly iptables?: string;
}

/**
 * The network of isolated units: a bridge whose ports cannot reach each other, and rules that let them out, but not to the node. Everything
 * that belongs to one unit disappears with its network namespace.
 */
export class IsolatedNetwork {
  readonly #options: NetworkOptions;
  #ready: { readonly pairs: Promise<Pair[]>; readonly since: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** Why units have no way out of their network; undefined if they have one. Never less isolation than they asked for. */
  async notice(): Promise<string | undefined> {
    const missing = await this.#missing();
    if (missing.length === 0) return undefined;
    return `no access to other machines, which needs ${missing.join(' and ')} on the node: apt-get install ${missing.join(' ')}`;
  }

  /** Makes sure that everything is there, and returns what the launcher needs. Rejects with a UnitProblem. */
  ensure(): Promise<Pair[]> {
    if (this.#ready === undefined || performance.now() - this.#ready.since > trust) {
      const pairs = this.#make();
      this.#ready = { pairs, since: performance.now() };
      pairs.catch(() => (this.#ready = undefined));
    }
    this.keep();
    return this.#ready.pairs;
  }

  /** From now on, rules that somebody deletes come back. */
  keep(): void {
    this.#timer ??= setInterval(() => void this.#repair(), trust).unref();
  }

  /** The next start looks at everything again. */
  forget(): void {
    this.#ready = undefined;
  }

  /** Deletes the bridge and the rules, unless a unit uses them. */
  async tearDown(): Promise<void> {
    const { bridge } = this.#options;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#ready = undefined;
    const tools = await this.#tools().catch(() => undefined);
    if (tools === undefined || !(await exists(tools.ip, bridge)) || !(await isUnused(tools.ip, bridge))) return;
    await run(tools.ip, ['link', 'delete', bridge]).catch(() => {});
    if (tools.nft !== undefined) await run(tools.nft, ['delete', 'table', 'inet', nftTable(bridge)]).catch(() => {});
    if (tools.iptables !== undefined) await removeIptables(tools.iptables, bridge);
  }

  async #repair(): Promise<void> {
    this.forget();
    await this.ensure().catch(() => {});
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
    const [ip, nft, iptables] = await Promise.all(programs.map((name) => this.#find(name)));
    if (ip === undefined || (nft === undefined && iptables === undefined))
      throw new UnitProblem('NetworkUnavailable', 'the programs that make networks were removed from the node');
    return { ip, ...(nft === undefined ? {} : { nft }), ...(iptables === undefined ? {} : { iptables }) };
  }

  /** Packages of Debian that have the missing programs. */
  async #missing(): Promise<string[]> {
    const [ip, nft, iptables] = await Promise.all(programs.map((name) => this.#find(name)));
    return [...(ip === undefined ? ['iproute2'] : []), ...(nft === undefined && iptables === undefined ? ['nftables'] : [])];
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

/** Interfaces disappear a moment after the last process of their unit. */
async function isUnused(ip: string, bridge: string): Promise<boolean> {
  for (let tries = 0; tries < 50; tries++) {
    const ports = await run(ip, ['-j', 'link', 'show', 'master', bridge]).catch(() => '[]');
    if ((JSON.parse(ports || '[]') as unknown[]).length === 0) return true;
    await sleep(20);
  }
  return false;
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
