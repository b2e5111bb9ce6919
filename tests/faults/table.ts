import type { Cell } from './cell.ts';

const head = `# Apps under faults

\`npm run faults -- --record\` writes this page. Each cell is one run: a small app is deployed, changed or removed on a host of its own, and something goes wrong while one of its steps runs. The step writes a line whenever it
begins, so a step that ran twice would be seen. A fault lasts until the platform had time to notice it.

`;

const legend = `
- *completed*: the operation ended as if nothing had happened, after the fault was over. Nobody had to do anything.
- *completed by retry*: the operation failed with the reason in brackets, and the action \`retry\` completed it.
- Words in brackets are the reasons that the status of the instance named meanwhile.
- "2 runs" means that the platform counted as many attempts: a step is never run again without its being counted.
`;

const clusterTitle = '## Self-managed Kubernetes';

const clusterHead = `${clusterTitle}

\`npm run faults -- --app k3s --record\` writes this part. Each column is one cluster with a server, which is deployed and removed on a host of its own. The fault happens in every step of both operations when the step begins, and is over
before the next one: so a cluster survives the fault some fourteen times. Afterwards its node is ready, and nothing of it is left on the host after the removal. The program that was run is the one that [Tests](apps-kubernetes.md#tests) describes.

`;

const clusterLegend = `
- *completed by resume*: the operation needed a person, as its instructions say, and the action \`resume\` completed it.
- *does not apply*: the fault has nothing to do with this step. Empty: the step was over before the fault could begin.
- "service killed" ends the program of the cluster with SIGKILL, from the step that starts it on.
`;

const slurmTitle = '## Slurm';

const slurmHead = `${slurmTitle}

\`npm run faults -- --app slurm --record\` writes this part. Each column is one deployment of real Slurm on a controller and a node, and its removal: the fault hits every step in turn, on the machine or machines that it runs on. Steps
that run a program are held until the fault has begun, and each start of a program is counted. Steps without a program, such as the writing of a file, take milliseconds: the fault begins together with them. A cell is wrong if
no job runs at the end of the deployment, or something of Slurm still runs at the end of the removal.

`;

const slurmLegend = `
- Empty: the fault needs a program and the step has none, or its output is a value that later steps use, or the step was over before the fault could begin.
`;

/** The page for the app of `ledger/`. */
export const page = (cells: readonly Cell[]): string => `${head}${tableOf(cells)}${legend}`;

/** The part of the page for clusters. */
export const clusterPart = (cells: readonly Cell[]): string => `${clusterHead}${tableOf(cells)}${clusterLegend}`;

/** The part of the page for Slurm. */
export const slurmPart = (cells: readonly Cell[]): string => `${slurmHead}${tableOf(cells)}${slurmLegend}`;

const titles = [clusterTitle, slurmTitle];

/** The page with another first part or another part of an app. The other parts stay. */
export function withPart(page: string, part: string): string {
  const partOf = (text: string): string => titles.find((title) => text.startsWith(title)) ?? '';
  const before = page.split(new RegExp(`^(?=${titles.join('|')})`, 'm'));
  const found = ['', ...titles].map((title) => (partOf(part) === title ? part : before.find((text) => partOf(text) === title)));
  return found
    .filter((text) => text !== undefined)
    .map((text) => `${text.trimEnd()}\n`)
    .join('\n');
}

/** The table as Markdown: steps down, faults across. */
function tableOf(cells: readonly Cell[]): string {
  const columns = [...new Set(cells.map(({ fault }) => fault))];
  const rows = [...new Map(cells.map((cell) => [rowOf(cell), cell])).keys()];
  const line = (parts: readonly string[]): string => `| ${parts.join(' | ')} |\n`;
  const table = rows.map((row) => {
    const found = columns.map((fault) => cells.find((cell) => rowOf(cell) === row && cell.fault === fault));
    return line([row, ...found.map((cell) => (cell === undefined ? '' : textOf(cell)))]);
  });
  return `${line(['Step', ...columns])}${line(['---', ...columns.map(() => '---')])}${table.join('')}`;
}

const rowOf = ({ step }: Cell): string => `${step.operation}: ${step.name}`;

export function textOf({ outcome, reasons, begun, faults }: Cell): string {
  const notes = [...reasons, ...(begun > 1 ? [`${begun} runs`] : [])];
  const wrong = faults.length > 0 ? ` **WRONG: ${faults.join('; ')}**` : '';
  return `${outcome}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}${wrong}`;
}

/** Whether a run shows that something is broken. */
export const isWrong = ({ outcome, faults }: Cell): boolean => faults.length > 0 || outcome === 'stuck';
