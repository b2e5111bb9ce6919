import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { handOver, type Tool, type ToolName, tool } from '@capstan/testbed';
import { afterSecondTry, parseReport, type Tally } from './checks/report.ts';

/*
 * The one test command. Runs every check, continues after a failure, and ends with one machine-readable line:
 * `N passed, N failed, N skipped`. A check counts as one test.
 */

const root = resolve(import.meta.dirname, '..');
const binaries = join(root, 'node_modules', '.bin');
const environment = { ...process.env, PATH: `${binaries}${delimiter}${process.env['PATH']}`, ...colors() };
const tools: readonly ToolName[] = [
  'openssl',
  'etcd',
  'kubectl',
  'helm',
  'clientgo-probe',
  'operator',
  'multicluster',
  'podman',
  'dockerd',
  'nft',
  'iptables',
  'slurm',
  'chromium',
  'kubectl-ws',
  'kubectl-create-workspace',
];

/**
 * How long programs may be built, from the start: two idle cores can build everything from scratch in this time. A slower machine skips the
 * tests of the missing ones, and builds more of them in the next run.
 */
const patience = 7 * 60_000;

type Check = readonly [name: string, command: readonly string[]];

/** Checks that run side by side with those of the other list: each keeps about one processor busy. */
const checks: readonly (readonly Check[])[] = [
  [
    ['build of the console', ['vite', 'build', 'apps/console', '--logLevel', 'warn']],
    ['build', ['node', 'apps/cli/scripts/build.ts']],
    ['format and lint', ['biome', 'check', '.']],
    ['layers', ['node', 'tests/checks/main.ts']],
    ['generated files', ['node', 'scripts/generate/main.ts', '--check']],
    ['types for browsers', ['tsc', '-p', 'tsconfig.browser.json']],
  ],
  [
    ['types', ['tsc', '-p', '.']],
    ['types of the console', ['tsc', '-p', 'apps/console']],
    ['lint with types', ['oxlint', '--type-aware']],
  ],
];

const running = new Set<ChildProcess>();
const builds = new AbortController();
setTimeout(() => builds.abort(), patience).unref();
// Ending only this process, as a CI timeout does, must also end its children.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    builds.abort();
    process.kill(process.pid, signal);
  });

/**
 * Tests with real programs and real time-outs sometimes fail on a machine that does something else for a moment. If few files fail, each gets one more try, alone. The summary names
 * the tests that passed only then.
 */
const mostSecondTries = 4;

const total: { passed: number; failed: string[]; skipped: string[]; unsteady: string[] } = {
  passed: 0,
  failed: [],
  skipped: [],
  unsteady: [],
};

const making = makeTools();
await Promise.all(checks.map(runChecks));
heading('unit tests');
add(await vitest('unit'));
heading('programs that the tests use');
const found = await making;
for (const [name, answer] of found) report(name, answer);
Object.assign(environment, handOver(found));
heading('integration tests');
add(await vitest('integration'));
summary();

async function runChecks(list: readonly Check[]): Promise<void> {
  for (const [name, command] of list) {
    const { code, text } = await executeQuietly(command);
    heading(name);
    process.stdout.write(text);
    if (code === 0) total.passed++;
    else total.failed.push(name);
  }
}

/** Builds missing programs during the checks and unit tests, one after the other, because they share libraries. */
async function makeTools(): Promise<Map<ToolName, Tool>> {
  const found = new Map<ToolName, Tool>();
  for (const name of tools) found.set(name, await tool(name, { signal: builds.signal }));
  return found;
}

function report(name: ToolName, found: Tool): void {
  process.stdout.write('missing' in found ? `${name}: MISSING, its tests are skipped. ${found.missing}\n` : `${name}: ${found.path}\n`);
}

async function vitest(project: string): Promise<Tally> {
  try {
    const first = await reportOf(project, []);
    const tally = parseReport(first.text, first.code);
    const files = tally.failedFiles;
    if (files.length === 0 || files.length > mostSecondTries) return tally;
    heading(`${project} tests that failed, once more`);
    const again = await reportOf(project, ['--no-file-parallelism', ...files]);
    const { unsteady, ...last } = afterSecondTry(first.text, parseReport(again.text, again.code));
    total.unsteady.push(...unsteady);
    return last;
  } catch (error) {
    process.stdout.write(`no report of the ${project} tests: ${String(error)}\n`);
    return { passed: 0, failed: [`${project} tests`], skipped: [], failedFiles: [] };
  }
}

async function reportOf(project: string, more: readonly string[]): Promise<{ text: string; code: number }> {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-report-'));
  const file = join(directory, 'report.json');
  try {
    const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${file}`];
    const code = await execute(['vitest', 'run', '--project', project, ...reporters, ...more]);
    return { text: readFileSync(file, 'utf8'), code };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function add(tally: Tally): void {
  total.passed += tally.passed;
  total.failed.push(...tally.failed);
  total.skipped.push(...tally.skipped);
}

function summary(): void {
  heading('summary');
  for (const name of total.skipped) process.stdout.write(`skipped: ${name}\n`);
  for (const name of total.unsteady) process.stdout.write(`unsteady: ${name}\n`);
  for (const name of total.failed) process.stdout.write(`failed: ${name}\n`);
  process.exitCode = total.failed.length === 0 ? 0 : 1;
  process.stdout.write(`${total.passed} passed, ${total.failed.length} failed, ${total.skipped.length} skipped\n`);
}

/**
 * Some programs interpret any FORCE_COLOR, or running in CI, as a request for colors, which would make their output unreadable in a file.
 */
function colors(): Record<string, string> {
  return process.stdout.isTTY ? { FORCE_COLOR: '1' } : { NO_COLOR: '1' };
}

function heading(text: string): void {
  process.stdout.write(`\n== ${text}\n`);
}

function execute(command: readonly string[]): Promise<number> {
  return ended(command, start(command, 'inherit'));
}

/** Keeps the output until the end, so that it does not mix with that of another command. */
async function executeQuietly(command: readonly string[]): Promise<{ code: number; text: string }> {
  const child = start(command, 'pipe');
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece: Buffer) => pieces.push(piece));
  const code = await ended(command, child);
  return { code, text: Buffer.concat(pieces).toString() };
}

function start([program, ...args]: readonly string[], output: 'inherit' | 'pipe'): ChildProcess {
  return spawn(join(binaries, program!), args, { cwd: root, env: environment, stdio: ['ignore', output, output] });
}

function ended([program]: readonly string[], child: ChildProcess): Promise<number> {
  running.add(child);
  return new Promise((done) => {
    child.on('error', (error) => {
      process.stdout.write(`${program}: ${error.message}\n`);
      done(-1);
    });
    child.on('close', (code) => {
      running.delete(child);
      done(code ?? -1);
    });
  });
}
