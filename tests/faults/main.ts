import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { HostNetwork, tool } from '@capstan/testbed';
import { type Cell, type Operation, operations, runCell, steps } from './cell.ts';
import { clusterFaults, runColumn } from './cluster-column.ts';
import { ClusterWorld, clusterProblem, type Program } from './cluster-world.ts';
import { faults } from './faults.ts';
import { runFault, slurmFaults } from './slurm/run.ts';
import { SlurmWorld } from './slurm/world.ts';
import { clusterPart, isWrong, page, slurmPart, textOf, withPart } from './table.ts';
import { World } from './world.ts';

const usage = `Lets things go wrong in every step of an app, and prints what became of it.

  npm run faults [-- --app ledger|k3s|rke2|slurm] [--step NAME]... [--operation NAME]... [--fault WORDS]... [--record]

--app        ledger by default: a small app whose steps can be held. k3s or rke2: a cluster with a server.
             slurm: a controller and a node
--step       only this step: ${steps.map(({ name }) => name).join(', ')}; may be repeated. Only for the ledger
--operation  only the steps of this operation: ${operations.filter((name) => name !== 'change').join(', ')};
             may be repeated. Not for the ledger
--fault      only faults whose names contain these words; may be repeated
--record     write the table to docs/apps-faults.md

Needs root, for hosts in namespaces of their own.
`;

const { values } = parseArgs({
  options: {
    app: { type: 'string', default: 'ledger' },
    step: { type: 'string', multiple: true, default: [] },
    operation: { type: 'string', multiple: true, default: [] },
    fault: { type: 'string', multiple: true, default: [] },
    record: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(usage);
else process.exitCode = await main();

async function main(): Promise<number> {
  const problem = await HostNetwork.problem();
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    return 1;
  }
  const clock = !('missing' in (await tool('faketime')));
  if (values.app === 'slurm') return slurm(clock);
  if (values.app !== 'ledger') return clusters(values.app, clock);
  const cells: Cell[] = [];
  await using world = await World.start({ clock });
  for (const fault of chosen(faults, clock))
    for (const step of steps.filter(({ name }) => values.step.length === 0 || values.step.includes(name))) {
      const cell = await runCell(world, step, fault);
      cells.push(cell);
      process.stderr.write(`${step.operation}: ${step.name}, ${fault.name}: ${textOf(cell)}\n`);
    }
  return finish(page(cells), cells);
}

async function clusters(app: string, clock: boolean): Promise<number> {
  const missing = app === 'k3s' || app === 'rke2' ? await clusterProblem() : `--app: expected ledger, k3s, rke2 or slurm, found ${app}`;
  if (missing !== undefined) {
    process.stderr.write(`${missing}\n`);
    return 1;
  }
  const program = app as Program;
  await using world = await ClusterWorld.start(program, { clock });
  const report = (line: string): void => void process.stderr.write(`  ${line}\n`);
  // The world stays until all of it is done.
  return await columns(
    chosen(clusterFaults, clock),
    (fault) => runColumn(world, fault, { report, isChosen }),
    (cells) => clusterPart(program, cells),
  );
}

async function slurm(clock: boolean): Promise<number> {
  const found = await tool('slurm');
  if ('missing' in found) {
    process.stderr.write(`${found.missing}\n`);
    return 1;
  }
  await using world = await SlurmWorld.start({ clock });
  return await columns(chosen(slurmFaults, clock), (fault) => runFault(world, fault, isChosen), slurmPart);
}

/** One column after the other. Each is recorded when it is complete, as all of them take an hour. */
async function columns<T>(
  faults: readonly T[],
  run: (fault: T) => Promise<Cell[]>,
  part: (cells: readonly Cell[]) => string,
): Promise<number> {
  let code = 0;
  for (const fault of faults) {
    const column = await run(fault);
    for (const cell of column) process.stderr.write(`${cell.step.operation}: ${cell.step.name}, ${cell.fault}: ${textOf(cell)}\n`);
    code = Math.max(code, finish(part(column), column));
  }
  return code;
}

function isChosen(operation: Operation): boolean {
  return values.operation.length === 0 || values.operation.includes(operation);
}

function chosen<T extends { readonly name: string; readonly needsClock?: boolean }>(all: readonly T[], clock: boolean): T[] {
  return all.filter(({ name, needsClock }) => {
    if (values.fault.length > 0 && !values.fault.some((words) => name.includes(words))) return false;
    if (needsClock !== true || clock) return true;
    process.stderr.write(`${name}: left out, as faketime is missing\n`);
    return false;
  });
}

function finish(part: string, cells: readonly Cell[]): number {
  const file = resolve(import.meta.dirname, '../../docs/apps-faults.md');
  if (values.record) writeFileSync(file, withPart(readFileSync(file, 'utf8'), part));
  else process.stdout.write(part);
  return cells.some(isWrong) ? 1 : 0;
}
