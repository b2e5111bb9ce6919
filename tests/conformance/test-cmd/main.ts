import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { run, temporaryDirectory } from '@capstan/testbed';
import { keepLog, writePage } from '../report.ts';
import { type Column, count, resultsTable } from '../table.ts';
import { readShell } from './outcome.ts';
import { type SuiteServer, startForSuite } from './server.ts';
import { layOut, type Suite } from './suite.ts';

const usage = `Runs Kubernetes' own shell suite of kubectl, test/cmd, one function after the other, each in a process of its own.

  npm run test-cmd [-- --only FUNCTION]... [--timeout SECONDS] [--output FILE] [--logs DIRECTORY]

--only     only this function, such as run_pod_tests; may be given more than once
--output   where the table is written; docs/test-cmd.md for a whole run
--logs     keep what each function said in this directory
`;

/** What of the suite is about something else. */
const leftOut = new Map([
  ['run_convert_tests', 'needs the plugin kubectl-convert, and no server'],
  ['run_swagger_tests', "looks for sentences of Kubernetes' own descriptions in the OpenAPI document"],
]);
const runOne = join(import.meta.dirname, 'run-one.sh');
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    timeout: { type: 'string', default: '400' },
    output: { type: 'string' },
    logs: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(usage);
else process.exitCode = await main();

async function main(): Promise<number> {
  using directory = temporaryDirectory('test-cmd');
  const suite = await layOut(directory.join('suite'));
  const chosen = suite.functions.filter((name) => values.only.length === 0 || values.only.includes(name));
  if (chosen.length === 0) throw new Error(`--only: expected some of ${suite.functions.join(', ')}`);
  await using server = await startForSuite(suite);
  const rows: Column['rows'][number][] = [];
  for (const name of chosen) {
    const reason = leftOut.get(name);
    const outcome = reason === undefined ? await runFunction(name, suite, server) : ({ state: 'not applicable', reason } as const);
    rows.push({ name, outcome });
    process.stderr.write(`${outcome.state} ${name}${outcome.state === 'passed' ? '' : `: ${outcome.reason}`}\n`);
  }
  const isWhole = values.only.length === 0;
  writePage(pageOf([{ title: 'Capstan', rows }]), { name: 'test-cmd.md', isWhole, output: values.output });
  return count(rows, 'failed') > 0 ? 1 : 0;
}

async function runFunction(name: string, suite: Suite, server: SuiteServer): Promise<ReturnType<typeof readShell>> {
  using home = temporaryDirectory('test-cmd-home');
  // One of them shows a certificate of the server to kubectl.
  writeFileSync(home.join('apiserver.crt'), server.certificate);
  const ended = await run('bash', [runOne, name, String(server.port)], {
    directory: suite.directory,
    environment: {
      ...{ HOME: home.path, TMPDIR: home.path, KUBE_TEMP: home.path, KUBE_JUNIT_REPORT_DIR: home.join('junit') },
      // The suite colours what it says.
      ...{ TERM: 'xterm', KUBECONFIG: home.join('.kube/config') },
    },
    timeout: Number(values.timeout) * 1000,
  });
  const output = ended.stdout + ended.stderr;
  keepLog(values.logs, name, output);
  return readShell({ code: ended.code, output: output.replaceAll(home.path, '…') });
}

function pageOf(columns: readonly Column[]): string {
  return [
    "# Kubernetes' shell suite of kubectl",
    '',
    'What `test/cmd` of Kubernetes 1.34 says about this server: kubectl in some thousand calls, against a server without nodes. Written by `npm run test-cmd`; see `tests/conformance`.',
    '',
    'The controllers are those of `capstan controller-manager`, and of a real kube-controller-manager 1.34 those that Capstan does not have.',
    '',
    ...resultsTable('Test', columns),
    '',
  ].join('\n');
}
