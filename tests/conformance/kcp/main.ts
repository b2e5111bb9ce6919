import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildCapstan, freePort, requireTool, run, temporaryDirectory } from '@capstan/testbed';
import { keepLog, writePage } from '../report.ts';
import { type Column, count, resultsTable } from '../table.ts';
import { readTests, type TestRun } from './outcome.ts';
import { startForKcp } from './server.ts';
import { kcpSources, kcpVersions, type Sources } from './sources.ts';

/** The version that the page describes. */
const pageVersion = 'v0.30.0';

const usage = `Runs kcp's own end-to-end tests, package by package, each on a separate server.

  npm run kcp-e2e [-- --package NAME]... [--run PATTERN] [--parallel N] [--timeout SECONDS] [--output FILE] [--logs DIRECTORY] [--kcp VERSION]

--kcp      the version of kcp to test with: ${kcpVersions.join(' or ')} (default: ${pageVersion})
--package  only this package, such as virtual/apiexport; may be repeated
--run      only the tests whose names match, as in "go test -run"
--output   file for the table (default: docs/kcp.md, for a complete run of ${pageVersion})
--logs     directory for the output of each package

  npm run kcp-e2e -- --serve DIRECTORY [--tokens FILE]

Starts a server prepared for the tests, to run them by hand, and prints how. All its files are in the directory.

--tokens   the tokens of the tests' users (default: those of the pinned version)
`;

/** kcp's tests run with its feature gates on. */
const asTested = { workspaces: { mounts: { enabled: true } } };

const { values } = parseArgs({
  options: {
    package: { type: 'string', multiple: true, default: [] },
    run: { type: 'string', default: '.' },
    parallel: { type: 'string', default: '2' },
    timeout: { type: 'string', default: '600' },
    output: { type: 'string' },
    logs: { type: 'string' },
    kcp: { type: 'string', default: pageVersion },
    serve: { type: 'string' },
    tokens: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(usage);
else if (values.serve !== undefined) await serve(resolve(values.serve), values.tokens);
else process.exitCode = await main();

/** Serves until a signal stops it. */
async function serve(directory: string, given: string | undefined): Promise<void> {
  const tokens = given === undefined ? (await kcpSources(values.kcp)).tokens : resolve(given);
  await buildCapstan();
  const own = join(directory, 'server');
  mkdirSync(own, { recursive: true });
  const { promise: asked, resolve: end } = Promise.withResolvers<void>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => end());
  await using server = await startForKcp({ directory: own, port: await freePort(), tokens, settings: asTested });
  const programs = await standIns(join(directory, 'bin'));
  process.stdout.write(
    `Ready. In kcp's repository:\n\n  export PATH='${programs}':$PATH NO_GORUN=1 KCP_TEST_TOKENS='${tokens}'\n` +
      `  go test -p 1 ./test/e2e/... -args -kcp-kubeconfig '${server.kubeconfig}'\n\nStop it with ^C.\n`,
  );
  await Promise.race([asked, server.child.exited]);
}

async function main(): Promise<number> {
  const sources = await kcpSources(values.kcp);
  const unknown = values.package.filter((name) => !sources.packages.includes(name));
  if (unknown.length > 0) throw new Error(`--package ${unknown.join(', ')}: expected some of ${sources.packages.join(', ')}`);
  const chosen = values.package.length === 0 ? sources.packages : values.package;
  await buildCapstan();
  await linkPlugins(sources);
  const rows: Column['rows'][number][] = [];
  for (const one of chosen) {
    for (const { name, outcome } of await runPackage(one, sources)) {
      rows.push({ name: `${one}: ${name}`, outcome });
      process.stderr.write(`${outcome.state} ${one} ${name}${outcome.state === 'passed' ? '' : `: ${outcome.reason}`}\n`);
    }
  }
  const isWhole = values.package.length === 0 && values.run === '.' && values.kcp === pageVersion;
  writePage(pageOf([{ title: 'Capstan', rows }]), { name: 'kcp.md', isWhole, output: values.output });
  return count(rows, 'failed') > 0 ? 1 : 0;
}

async function runPackage(name: string, sources: Sources): Promise<TestRun[]> {
  let program: string;
  try {
    program = await sources.program(name);
  } catch (error) {
    const why = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error);
    return [{ name: 'all tests', outcome: { state: 'failed', reason: `cannot be built: ${why}` } }];
  }
  using directory = temporaryDirectory('kcp-e2e');
  const own = directory.join('server');
  mkdirSync(own);
  await using server = await startForKcp({
    directory: own,
    port: await freePort(),
    tokens: sources.tokens,
    settings: asTested,
  });
  const ended = await run(
    program,
    [
      ...['-test.v', '-test.run', values.run, '-test.timeout', `${values.timeout}s`, '-test.parallel', values.parallel],
      ...['-v=0', '-kcp-kubeconfig', server.kubeconfig],
    ],
    {
      directory: sources.directoryOf(name),
      environment: {
        NO_GORUN: '1',
        ARTIFACT_DIR: directory.path,
        KCP_TEST_TOKENS: sources.tokens,
        PATH: [await standIns(directory.join('bin')), process.env['PATH']].join(delimiter),
      },
      timeout: (Number(values.timeout) + 60) * 1000,
    },
  );
  // The temporary path would be noise in the reasons.
  const output = (ended.stdout + ended.stderr).replaceAll(directory.path, '…');
  keepLog(values.logs, name, output);
  return readTests(output);
}

/** Links kcp's plugins for kubectl to where the tests expect them. */
async function linkPlugins({ programs }: Sources): Promise<void> {
  mkdirSync(programs, { recursive: true });
  for (const name of ['kubectl-ws', 'kubectl-kcp', 'kubectl-create-workspace'] as const) {
    rmSync(join(programs, name), { force: true });
    symlinkSync(await requireTool(name), join(programs, name));
  }
}

/** A folder for PATH with the programs that tests start themselves. */
async function standIns(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const programs = {
    kcp: `exec '${process.execPath}' '${join(import.meta.dirname, 'stand-in.ts')}' "$@"`,
    httest: `exec '${process.execPath}' '${join(import.meta.dirname, 'httest.ts')}' "$@"`,
    kubectl: `exec '${await requireTool('kubectl')}' "$@"`,
  };
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

function pageOf(columns: readonly Column[]): string {
  return [
    "# kcp's own tests",
    '',
    `Results of the end-to-end tests of kcp ${values.kcp} against this server and its controllers, each package on a separate server. Generated by \`npm run kcp-e2e\`; see \`tests/conformance\`.`,
    '',
    "Tests that start their own kcp start Capstan instead. `cache: TestCacheServerAllScenarios` sends no requests to the server: it tests kcp's cache",
    'server, which is compiled into the test.',
    '',
    ...resultsTable('Test', columns),
    '',
  ].join('\n');
}
