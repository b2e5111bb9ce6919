import { type Cell, type Operation, operations } from './cell.ts';
import type { Program } from './cluster-world.ts';

const head = `# Apps under faults

\`npm run faults -- --record\` writes this page. Each cell is one run: a small app is deployed, changed or removed on a host of its own, and something goes wrong while one of its steps runs. The step writes a line whenever it
begins, so a step that ran twice would be seen. A fault lasts until the platform had time to notice it.

`;

const legend = `
- *completed*: the operation ended as if nothing had happened, after the fault was over. Nobody had to do anything, except with a copied agent: its node is locked until somebody runs \`capstan node unlock\`. The copy reports the step as interrupted, so it runs again, and is counted.
- *completed by retry*: the operation failed with the reason in brackets, and the action \`retry\` completed it.
- Words in brackets are the reasons that the status of the instance named meanwhile.
- "2 runs" means that the platform counted as many attempts: a step is never run again without its being counted.
`;

const clusterTitle = '## Self-managed Kubernetes';
const programTitles = { k3s: `${clusterTitle}: k3s`, rke2: `${clusterTitle}: RKE2` } as const;

const clusterHead = (program: Program): string => `${programTitles[program]}

\`npm run faults -- --app ${program} --record\` writes this part. Each column is one cluster with a server, which is deployed, saved in a snapshot, restored, repaired, gets an agent, loses it again and is removed, on hosts of their own. The fault happens in every
step of these operations when the step begins, on the machine of the step, and is over before the next one. All nodes of the cluster are ready after each operation, and nothing of it is left on the hosts after the removal. The program that was run is the one
that [Tests](apps-kubernetes.md#tests) describes.

`;

const clusterLegend = `
- *completed by resume*: the operation needed a person, as its instructions say, and the action \`resume\` completed it.
- *does not apply*: the fault has nothing to do with this step. Empty: the step was over before the fault could begin again, or the operation was not run with this fault. It may have run while the fault of an earlier step lasted.
- "service killed" ends the program of the cluster with SIGKILL, from the step that starts it on.
- Columns come from different runs: \`--record\` replaces only those of the faults that it runs, and with \`--operation\` only the rows of these operations.
`;

const slurmTitle = '## Slurm';

const slurmHead = `${slurmTitle}

\`npm run faults -- --app slurm --record\` writes this part. Each column is one deployment of real Slurm on a controller and a node, a repair of the node, another node that is added and removed again, and the removal of everything: the fault hits every step in turn, on
the machine or machines that it runs on. Steps that run a program are held until the fault has begun, and each start of a program is counted. Steps without a program, such as the writing of a file, take milliseconds: the fault begins together with them. A cell
is wrong if no job runs on all nodes after an operation, or something of Slurm still runs on machines that were removed.

`;

const slurmLegend = `
- Empty: the fault needs a program and the step has none, or its output is a value that later steps use, or the step was over before the fault could begin, or the operation was not run with this fault.
- *added* is the node that joins and leaves, *compute* the one that stays.
- Columns come from different runs: \`--record\` replaces only those of the faults that it runs, and with \`--operation\` only the rows of these operations.
`;

/** The page for the app of `ledger/`. */
export const page = (cells: readonly Cell[]): string => `${head}${tableOf(cells)}${legend}`;

/** The part of the page for clusters. */
export const clusterPart = (program: Program, cells: readonly Cell[]): string => `${clusterHead(program)}${tableOf(cells)}${clusterLegend}`;

/** The part of the page for Slurm. */
export const slurmPart = (cells: readonly Cell[]): string => `${slurmHead}${tableOf(cells)}${slurmLegend}`;

const titles = [programTitles.k3s, programTitles.rke2, slurmTitle];

/** The page with another first part or another part of an app. The other parts stay, and so do the columns of faults that were not run. */
export function withPart(page: string, part: string): string {
  const partOf = (text: string): string => titles.find((title) => text.startsWith(title)) ?? '';
  const before = page.split(new RegExp(`^(?=${titles.join('|')})`, 'm'));
  const found = ['', ...titles].map((title) => {
    const old = before.find((text) => partOf(text) === title);
    return partOf(part) === title ? withColumnsOf(old ?? '', part) : old;
  });
  return found
    .filter((text) => text !== undefined)
    .map((text) => `${text.trimEnd()}\n`)
    .join('\n');
}

type Row = readonly [name: string, ...cells: string[]];

/** A part with those columns of an older one that it does not have, and those operations of its own columns. */
function withColumnsOf(old: string, part: string): string {
  const [[, ...known], ...before] = rowsIn(old);
  const [[step, ...faults], ...fresh] = rowsIn(part);
  const columns = [...known, ...faults.filter((fault) => !known.includes(fault))];
  const names = [...new Set([...before, ...fresh].map(([name]) => name))].sort((one, other) => rankOf(one) - rankOf(other));
  const cell = (rows: readonly Row[], name: string, column: number): string => rows.find((row) => row[0] === name)?.[column + 1] ?? '';
  const wasRun = new Set(fresh.map(([name]) => operationOf(name)));
  const rows = names.map((name): Row => {
    const cells = columns.map((fault) =>
      faults.includes(fault) && wasRun.has(operationOf(name))
        ? cell(fresh, name, faults.indexOf(fault))
        : cell(before, name, known.indexOf(fault)),
    );
    return [name, ...cells];
  });
  return part.replace(/(?:^\|.*\n)+/m, markdown([step, ...columns], rows));
}

/** Steps of one operation stay in the order in which they were found. */
const rankOf = (name: string): number => operations.indexOf(operationOf(name));
const operationOf = (name: string): Operation => name.slice(0, name.indexOf(':')) as Operation;

/** The head of the table and its rows. */
function rowsIn(part: string): [Row, ...Row[]] {
  const lines = part.split('\n').filter((line) => line.startsWith('|'));
  const rows = lines.map(
    (line) =>
      line
        .slice(2, -2)
        .split(' | ')
        .map((text) => text.trim()) as unknown as Row,
  );
  const [head = ['Step'], , ...others] = rows;
  return [head, ...others];
}

/** The table as Markdown: steps down, faults across. */
function tableOf(cells: readonly Cell[]): string {
  const columns = [...new Set(cells.map(({ fault }) => fault))];
  const rows = [...new Set(cells.map(rowOf))];
  const found = (row: string, fault: string): Cell | undefined => cells.find((cell) => rowOf(cell) === row && cell.fault === fault);
  const text = (cell: Cell | undefined): string => (cell === undefined ? '' : textOf(cell));
  return markdown(
    ['Step', ...columns],
    rows.map((row) => [row, ...columns.map((fault) => text(found(row, fault)))]),
  );
}

function markdown(head: Row, rows: readonly Row[]): string {
  const line = (parts: readonly string[]): string => `| ${parts.join(' | ')} |\n`;
  return [head, head.map(() => '---'), ...rows].map(line).join('');
}

const rowOf = ({ step }: Cell): string => `${step.operation}: ${step.name}`;

export function textOf({ outcome, reasons, begun, faults }: Cell): string {
  const notes = [...reasons, ...(begun > 1 ? [`${begun} runs`] : [])];
  const wrong = faults.length > 0 ? ` **WRONG: ${faults.join('; ')}**` : '';
  return `${outcome}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}${wrong}`;
}

/** Whether a run shows that something is broken. */
export const isWrong = ({ outcome, faults }: Cell): boolean => faults.length > 0 || outcome === 'stuck';
