import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer } from '@capstan/apiserver/testing';
import { type TcpProxy, tcpProxy } from '@capstan/client/testing';
import { expect, test } from 'vitest';

/** A round takes about two seconds: few by default, a hundred to be sure. */
const rounds = Number(process.env.CAPSTAN_LEADER_ROUNDS ?? '10');

interface Claim {
  readonly token: number;
  readonly at: bigint;
  readonly identity: string;
}

interface Contender {
  readonly identity: string;
  readonly process: ChildProcess;
  readonly proxy: TcpProxy;
}

function readClaims(log: string, from = 0): Claim[] {
  return readFileSync(log)
    .subarray(from)
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [token, at, identity] = line.split(' ');
      return { token: Number(token), at: BigInt(at!), identity: identity! };
    });
}

/** Claims to lead at a moment within the term of another process. */
function overlaps(claims: readonly Claim[]): string[] {
  const terms = new Map<number, { first: bigint; last: bigint; identities: Set<string> }>();
  for (const { token, at, identity } of claims) {
    const term = terms.get(token) ?? { first: at, last: at, identities: new Set() };
    if (at < term.first) term.first = at;
    if (at > term.last) term.last = at;
    term.identities.add(identity);
    terms.set(token, term);
  }
  const ordered = [...terms].toSorted(([one], [other]) => one - other);
  return ordered.flatMap(([token, term], index) => {
    const next = ordered[index + 1];
    const faults = term.identities.size > 1 ? [`term ${token} had several leaders: ${[...term.identities].join(', ')}`] : [];
    if (next !== undefined && next[1].first <= term.last) faults.push(`term ${next[0]} began before term ${token} ended`);
    return faults;
  });
}

test('leaders never overlap, even if they are killed, paused or disconnected, or their clocks are adjusted', {
  timeout: 30_000 + rounds * 40_000,
}, async () => {
  await using server = await startTestServer();
  const folder = mkdtempSync(join(tmpdir(), 'capstan-leaders-'));
  const log = join(folder, 'log');
  writeFileSync(log, '');
  let started = 0;
  const start = async (skew: number): Promise<Contender> => {
    const identity = `contender-${started++}`;
    const proxy = await tcpProxy(() => Number(new URL(server.url).port));
    const options = { kubeconfig: server.kubeconfigPath, server: `https://127.0.0.1:${proxy.port}`, log, identity, skew };
    const child = fork(join(import.meta.dirname, 'testing', 'contender.ts'), [JSON.stringify(options)], { stdio: 'inherit', execArgv: [] });
    return { identity, process: child, proxy };
  };
  const end = async ({ process: child, proxy }: Contender, signal: NodeJS.Signals): Promise<void> => {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exited;
    await proxy[Symbol.asyncDispose]();
  };
  let contenders: Contender[] = await Promise.all([start(0), start(3_600_000), start(-86_400_000)]);
  const replace = async (old: Contender, signal: NodeJS.Signals): Promise<void> => {
    await end(old, signal);
    contenders = [...contenders.filter((one) => one !== old), await start(0)];
  };
  /** The process that leads now, once one has claimed to since the call. */
  const leader = async (): Promise<Contender> => {
    const before = statSync(log).size;
    for (let tries = 0; tries < 3000; tries++) {
      const last = readClaims(log, before).at(-1);
      const found = contenders.find(({ identity }) => identity === last?.identity);
      if (found !== undefined) return found;
      await sleep(10);
    }
    throw new Error('nobody leads');
  };
  const faults: readonly ((one: Contender) => Promise<void>)[] = [
    (one) => replace(one, 'SIGKILL'),
    async (one) => {
      one.process.kill('SIGSTOP');
      await sleep(1500);
      one.process.kill('SIGCONT');
    },
    async (one) => {
      one.proxy.stall();
      await sleep(1500);
      one.proxy.heal();
    },
    async (one) => void one.process.kill('SIGUSR2'),
    (one) => replace(one, 'SIGTERM'),
    async (one) => {
      one.process.kill('SIGSTOP');
      await sleep(300 + Math.random() * 600);
      one.process.kill('SIGCONT');
    },
  ];
  try {
    for (let round = 0; round < rounds; round++) {
      const leading = await leader();
      await sleep(Math.random() * 200);
      await faults[round % faults.length]!(leading);
    }
    await leader();
    const claims = readClaims(log);
    expect(overlaps(claims)).toEqual([]);
    // Each kill, pause and disconnection made another process lead.
    expect(new Set(claims.map(({ token }) => token)).size).toBeGreaterThanOrEqual(Math.min(4, rounds));
  } finally {
    await Promise.all(contenders.map((one) => end(one, 'SIGKILL')));
    rmSync(folder, { recursive: true });
  }
});
