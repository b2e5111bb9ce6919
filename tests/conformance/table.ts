import type { Outcome } from './outcome.ts';

export interface Row {
  readonly name: string;
  /** What it needs beside an API server. */
  readonly needs?: string | undefined;
  readonly outcome: Outcome;
}

export interface Column {
  /** What the specs ran against, such as `SQLite`. */
  readonly title: string;
  readonly rows: readonly Row[];
}

const marks: Readonly<Record<Outcome['state'], string>> = {
  passed: 'passed',
  failed: '**failed**',
  'not applicable': 'not applicable yet',
};
const longestReason = 300;

/** The page for people. */
export function conformancePage(columns: readonly Column[]): string {
  return [
    '# Conformance',
    '',
    'What specs of Kubernetes 1.34 say about this server. Written by `npm run conformance`; see `tests/conformance`.',
    '',
    'The controllers are those of `capstan controller-manager`. A real kube-controller-manager 1.34 ran beside them for the specs that name it, and for no others; there it had none',
    'of the controllers that Capstan has itself.',
    '',
    ...resultsTable('Spec', columns),
    '',
  ].join('\n');
}

/** How many of each, then one row for each test with a column for each server, and the reasons. */
export function resultsTable(what: 'Spec' | 'Test', columns: readonly Column[]): string[] {
  const names = [...new Set(columns.flatMap(({ rows }) => rows.map(({ name }) => name)))];
  const found = columns.map(({ rows }) => new Map(rows.map((row) => [row.name, row.outcome])));
  const needs = new Map(columns.flatMap(({ rows }) => rows.map((row) => [row.name, row.needs])));
  const isNeeding = [...needs.values()].some((need) => need !== undefined);
  const lines = names.map((name) => {
    const outcomes = found.map((column) => column.get(name));
    return `| ${[name, ...outcomes.map(mark), ...(isNeeding ? [needs.get(name) ?? ''] : []), reasonOf(outcomes)].map(cell).join(' | ')} |`;
  });
  return [
    `| | Passed | Failed | Not applicable yet |`,
    '|---|---|---|---|',
    ...columns.map(
      ({ title, rows }) => `| ${title} | ${count(rows, 'passed')} | ${count(rows, 'failed')} | ${count(rows, 'not applicable')} |`,
    ),
    '',
    `| ${[what, ...columns.map(({ title }) => title), ...(isNeeding ? ['Needs beside an API server'] : []), 'Reason'].join(' | ')} |`,
    `|---|${columns.map(() => '---|').join('')}${isNeeding ? '---|' : ''}---|`,
    ...lines,
  ];
}

export function count(rows: readonly Row[], state: Outcome['state']): number {
  return rows.filter(({ outcome }) => outcome.state === state).length;
}

function mark(outcome: Outcome | undefined): string {
  return outcome === undefined ? '–' : marks[outcome.state];
}

function reasonOf(outcomes: readonly (Outcome | undefined)[]): string {
  const reasons = outcomes.flatMap((outcome) => (outcome === undefined || outcome.state === 'passed' ? [] : [outcome.reason]));
  return [...new Set(reasons)].join('; ');
}

/** Text of others in a table: on one line, not too long, and without what markdown reads as something else. */
function cell(text: string): string {
  const short = text.length > longestReason ? `${text.slice(0, longestReason)}…` : text;
  return short.replaceAll(/\s+/g, ' ').replaceAll(/[\\|<>`]/g, String.raw`\$&`);
}
