import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { HostNetwork, tool } from '@capstan/testbed';
import { type Cell, runCell, steps } from './cell.ts';
import { faults } from './faults.ts';
import { isWrong, page, textOf } from './table.ts';
import { World } from './world.ts';

const usage = `Lets things go wrong in every step of an app, and prints what became of it.

  npm run faults [-- --step NAME]... [--fault WORDS]... [--record]

--step    only this step: ${steps.map(({ name }) => name).join(', ')}; may be repeated
--fault   only faults whose names contain these words; may be repeated
--record  write the table to docs/apps-faults.md

Needs root, for hosts in namespaces of their own.
`;

const { values } = parseArgs({
  options: {
    step: { type: 'string', multiple: true, default: [] },
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
  const cells: Cell[] = [];
  await using world = await World.start({ clock });
  for (const fault of faults.filter(({ name }) => values.fault.length === 0 || values.fault.some((words) => name.includes(words)))) {
    if (fault.needsClock === true && !clock) {
      process.stderr.write(`${fault.name}: left out, as faketime is missing\n`);
      continue;
    }
    for (const step of steps.filter(({ name }) => values.step.length === 0 || values.step.includes(name))) {
      const cell = await runCell(world, step, fault);
      cells.push(cell);
      process.stderr.write(`${step.operation}: ${step.name}, ${fault.name}: ${textOf(cell)}\n`);
    }
  }
  const text = page(cells);
  if (values.record) writeFileSync(resolve(import.meta.dirname, '../../docs/apps-faults.md'), text);
  else process.stdout.write(text);
  return cells.some(isWrong) ? 1 : 0;
}
