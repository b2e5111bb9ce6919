import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type RunningCapstan,
  requireTool,
  run,
  type StoreDriver,
  startCapstan,
  startKubeletCluster,
  temporaryDirectory,
} from '@capstan/testbed';
import { nodeImages } from './node-images.ts';
import { runInPhases } from './phases.ts';
import { keepLog, writePage } from './report.ts';
import { notRun, type RunOptions, runAll } from './run-all.ts';
import type { SpecRun } from './run-spec.ts';
import { focused, parseSpecs, type Spec } from './specs.ts';
import { type Column, conformancePage, count, nodesPage } from './table.ts';

const usage = `Runs specs of Kubernetes' own end-to-end tests, each in a separate process.

  npm run conformance [-- --store sqlite|etcd]... [--focus WORDS] [--parallel N] [--timeout SECONDS]
                      [--nodes] [--specs FILE] [--kubeconfig FILE] [--without-controllers] [--output FILE] [--logs DIRECTORY]

--store                start Capstan with this store; may be repeated (default: both)
--nodes                start two real kubelets, and run the specs of tests/conformance/node-specs.txt on them
--specs                file with the specs to run (default: tests/conformance/specs.txt)
--focus                only the specs whose names contain all of these words; prints the table unless --output is given
--kubeconfig           run against this server, with the controllers it has, instead
--without-controllers  start no controllers, and leave out the specs that need them
--output               file for the table (default: docs/conformance.md, for a complete run)
--logs                 directory for the output of each spec
`;

/** History must be compacted twice before a spec on continue tokens can end. */
const compactionSeconds = 20;
const conformanceSpecs = join(import.meta.dirname, 'specs.txt');
const nodeSpecs = join(import.meta.dirname, 'node-specs.txt');

const { values } = parseArgs({
  options: {
    store: { type: 'string', multiple: true, default: [] },
    nodes: { type: 'boolean', default: false },
    specs: { type: 'string' },
    focus: { type: 'string', default: '' },
    parallel: { type: 'string', default: '4' },
    timeout: { type: 'string', default: '300' },
    kubeconfig: { type: 'string' },
    'without-controllers': { type: 'boolean', default: false },
    output: { type: 'string' },
    logs: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(usage);
else process.exitCode = await main();

async function main(): Promise<number> {
  const file = values.specs ?? (values.nodes ? nodeSpecs : conformanceSpecs);
  const all = parseSpecs(readFileSync(file, 'utf8'));
  const specs = focused(all, values.focus);
  if (specs.length === 0) throw new Error(`--focus: expected words of a name in ${file}, found ${JSON.stringify(values.focus)}`);
  const testProgram = await requireTool('e2e.test');
  const kubectl = await requireTool('kubectl');
  const columns: Column[] = [];
  const runOn = (title: string, kubeconfig: string, nodes?: RunOptions['nodes']) => {
    process.stderr.write(`${title}: ${specs.length} specs\n`);
    let done = 0;
    return (some: readonly Spec[], parallel = wholeNumber('parallel', values.parallel)): Promise<SpecRun[]> =>
      runAll(some, {
        ...(nodes && { nodes }),
        ...{ testProgram, kubectl, kubeconfig, controllers: !values['without-controllers'] },
        parallel,
        timeout: wholeNumber('timeout', values.timeout),
        onDone: ({ spec, outcome, seconds, output }) => {
          const reason = outcome.state === 'passed' ? '' : `: ${outcome.reason}`;
          process.stderr.write(`${++done}/${specs.length} ${outcome.state} (${Math.round(seconds)} s) ${spec.name}${reason}\n`);
          keepLog(values.logs && join(values.logs, title), spec.name, output);
        },
      });
  };
  if (values.nodes) {
    await using cluster = await startKubeletCluster({ nodes: 2, images: await nodeImages(), services: true });
    const runNodes = runOn('sqlite', cluster.kubeconfig, { count: 2, command: (...command) => cluster.command(...command) });
    // These change the nodes themselves, so each has them for itself.
    const [serial, others] = [specs.filter(isSerial), specs.filter((spec) => !isSerial(spec))];
    columns.push(columnOf('sqlite', [...(await runNodes(others)), ...(await runNodes(serial, 1))]));
    writePage(nodesPage(columns), { name: 'conformance-nodes.md', isWhole: isWhole(nodeSpecs), output: values.output });
    return columns.some(({ rows }) => count(rows, 'failed') > 0) ? 1 : 0;
  }
  if (values.kubeconfig !== undefined) {
    const title = 'given server';
    columns.push(columnOf(title, await runGiven(specs, runOn(title, resolve(values.kubeconfig)))));
  } else {
    for (const store of stores()) {
      await onCapstan(store, async (server) => {
        const run = runOn(store, server.kubeconfig);
        columns.push(columnOf(store, values['without-controllers'] ? await runGiven(specs, run) : await runInPhases(server, specs, run)));
      });
    }
  }
  writePage(conformancePage(columns), { name: 'conformance.md', isWhole: isWhole(conformanceSpecs), output: values.output });
  return columns.some(({ rows }) => count(rows, 'failed') > 0) ? 1 : 0;
}

async function onCapstan(store: StoreDriver, test: (server: RunningCapstan) => Promise<void>): Promise<void> {
  using directory = temporaryDirectory('conformance');
  const config = directory.join('capstan.yaml');
  writeFileSync(config, `apiserver: { history: { compactionSeconds: ${compactionSeconds} } }\n`);
  await using server = await startCapstan({ store, args: ['--config', config] });
  const kubectl = await requireTool('kubectl');
  using _beating = heartbeat(kubectl, server.kubeconfig);
  await test(server);
}

/** All at once, against a given server and its controllers. */
async function runGiven(specs: readonly Spec[], run: (specs: readonly Spec[]) => Promise<SpecRun[]>): Promise<SpecRun[]> {
  if (!values['without-controllers']) return run(specs);
  const left = specs.filter(({ needs }) => needs !== undefined).map(notRun);
  return [...(await run(specs.filter(({ needs }) => needs === undefined))), ...left];
}

function columnOf(title: string, runs: readonly SpecRun[]): Column {
  return { title, rows: runs.map(({ spec, outcome }) => ({ name: spec.name, needs: spec.needs?.what, outcome })) };
}

/** In a real cluster, nodes and leaders write all the time. Compaction depends on writes, and a spec on continue tokens waits for it. */
function heartbeat(kubectl: string, kubeconfig: string): Disposable {
  const beat = (): void => {
    const annotation = `conformance.capstan.dev/heartbeat=${Date.now()}`;
    void run(kubectl, ['--kubeconfig', kubeconfig, 'annotate', 'namespace', 'kube-node-lease', '--overwrite', annotation]);
  };
  const timer = setInterval(beat, 10_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function stores(): StoreDriver[] {
  const wanted = values.store.length === 0 ? ['sqlite', 'etcd'] : values.store;
  return wanted.map((store) => {
    if (store !== 'sqlite' && store !== 'etcd') throw new Error(`--store: expected sqlite or etcd, found ${store}`);
    return store;
  });
}

function isSerial({ name }: Spec): boolean {
  return name.includes('[Serial]');
}

function isWhole(specs: string): boolean {
  return (
    (values.specs ?? specs) === specs &&
    values.focus === '' &&
    values.kubeconfig === undefined &&
    values.store.length === 0 &&
    !values['without-controllers']
  );
}

function wholeNumber(name: string, value: string): number {
  if (!/^[1-9]\d*$/.test(value)) throw new Error(`--${name}: expected a whole number above 0, found ${value}`);
  return Number(value);
}
