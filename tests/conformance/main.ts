import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { requireTool, run, type StoreDriver, startCapstan, temporaryDirectory } from '@capstan/testbed';
import { runAll } from './run-all.ts';
import { focused, parseSpecs } from './specs.ts';
import { type Column, conformancePage, count } from './table.ts';

const usage = `Runs specs of Kubernetes' own end-to-end tests, each in a process of its own.

  npm run conformance [-- --store sqlite|etcd]... [--focus WORDS] [--parallel N] [--timeout SECONDS]
                      [--specs FILE] [--kubeconfig FILE] [--controllers] [--output FILE] [--logs DIRECTORY]

--store        start Capstan on this store; may be given twice; both unless told
--specs        run the specs that this file names instead of those in tests/conformance/specs.txt
--focus        only the specs whose names have all of these words; prints the table unless --output is given
--kubeconfig   run against this server instead
--controllers  a controller manager runs beside that server: run the specs that need one as well
--output       where the table is written; docs/conformance.md for a whole run
--logs         keep what each spec said in this directory
`;

/** History must be compacted twice before a spec on continue tokens can end. */
const compactionSeconds = 20;
const root = resolve(import.meta.dirname, '../..');
const conformanceSpecs = join(import.meta.dirname, 'specs.txt');

const { values } = parseArgs({
  options: {
    store: { type: 'string', multiple: true, default: [] },
    specs: { type: 'string', default: conformanceSpecs },
    focus: { type: 'string', default: '' },
    parallel: { type: 'string', default: '4' },
    timeout: { type: 'string', default: '300' },
    kubeconfig: { type: 'string' },
    controllers: { type: 'boolean', default: false },
    output: { type: 'string' },
    logs: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(usage);
else process.exitCode = await main();

async function main(): Promise<number> {
  const all = parseSpecs(readFileSync(values.specs, 'utf8'));
  const specs = focused(all, values.focus);
  if (specs.length === 0) throw new Error(`--focus: expected words of a name in ${values.specs}, found ${JSON.stringify(values.focus)}`);
  const testProgram = await requireTool('e2e.test');
  const kubectl = await requireTool('kubectl');
  const columns: Column[] = [];
  const test = async (title: string, kubeconfig: string): Promise<void> => {
    process.stderr.write(`${title}: ${specs.length} specs\n`);
    const runs = await runAll(specs, {
      ...{ testProgram, kubectl, kubeconfig, controllers: values.controllers },
      parallel: wholeNumber('parallel', values.parallel),
      timeout: wholeNumber('timeout', values.timeout),
      onDone: ({ spec, outcome, seconds, output }, done) => {
        const reason = outcome.state === 'passed' ? '' : `: ${outcome.reason}`;
        process.stderr.write(`${done}/${specs.length} ${outcome.state} (${Math.round(seconds)} s) ${spec.name}${reason}\n`);
        if (values.logs !== undefined) keepLog(join(values.logs, title), spec.name, output);
      },
    });
    columns.push({ title, rows: runs.map(({ spec, outcome }) => ({ name: spec.name, outcome })) });
  };
  if (values.kubeconfig !== undefined) await test('given server', resolve(values.kubeconfig));
  else for (const store of stores()) await onCapstan(store, (kubeconfig) => test(store, kubeconfig));
  writePage(conformancePage(columns));
  return columns.some(({ rows }) => count(rows, 'failed') > 0) ? 1 : 0;
}

async function onCapstan(store: StoreDriver, test: (kubeconfig: string) => Promise<void>): Promise<void> {
  using directory = temporaryDirectory('conformance');
  const config = directory.join('apiserver.yaml');
  writeFileSync(config, `history:\n  compactionSeconds: ${compactionSeconds}\n`);
  await using server = await startCapstan({ store, args: ['--config', config] });
  const kubectl = await requireTool('kubectl');
  using _beating = heartbeat(kubectl, server.kubeconfig);
  await test(server.kubeconfig);
}

/** Nodes and leaders write all the time where there are some. History ages only by writes, and a spec on continue tokens waits for that. */
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

/** Part of a run never replaces the page of a whole one. */
function writePage(page: string): void {
  const whole = values.specs === conformanceSpecs && values.focus === '' && values.kubeconfig === undefined && values.store.length === 0;
  const file = values.output ?? (whole ? join(root, 'docs', 'conformance.md') : undefined);
  if (file === undefined) process.stdout.write(page);
  else writeFileSync(file, page);
}

function keepLog(directory: string, name: string, output: string): void {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${name.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, 200)}.log`);
  writeFileSync(file, output);
}

function wholeNumber(name: string, value: string): number {
  if (!/^[1-9]\d*$/.test(value)) throw new Error(`--${name}: expected a whole number above 0, found ${value}`);
  return Number(value);
}
