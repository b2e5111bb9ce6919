import type { App } from '@capstan/api';
import { fieldsOf, textOf } from '@capstan/machinery';
import { type Column, printList, printOne } from '../output.ts';
import { type AppOutputFlags, answered, findApp, openApps } from './apps.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);

const defaultVersion = ({ spec: { versions } }: App): string | undefined =>
  (versions.find(({ isDefault }) => isDefault) ?? versions[0])?.name;

const table: readonly Column<App>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'TITLE', value: ({ spec }) => spec.displayName },
  { name: 'SUPPORT', value: ({ spec }) => spec.support },
  { name: 'VERSION', value: defaultVersion },
  { name: 'COMPONENTS', value: ({ spec }) => spec.components.map(({ name }) => name).join(','), isWide: true },
];

const details: readonly Column<App>[] = [
  { name: 'Name', value: ({ metadata }) => metadata.name },
  { name: 'Title', value: ({ spec }) => spec.displayName },
  { name: 'Description', value: ({ spec }) => spec.description },
  { name: 'Support', value: ({ spec }) => spec.support },
  {
    name: 'Versions',
    value: (app) => app.spec.versions.map(({ name }) => (name === defaultVersion(app) ? `${name} (default)` : name)).join(', '),
  },
  { name: 'Access', value: ({ spec }) => spec.access?.join(', ') },
  { name: 'Operations', value: ({ spec }) => spec.operations?.map(({ name }) => name).join(', ') },
];

export async function listCatalog({ output, ...flags }: AppOutputFlags): Promise<void> {
  using apps = openApps(flags);
  const { items } = await answered(apps, apps.catalog.list(), '');
  printList(items, { output, table, empty: 'The catalog has no apps.' });
}

export async function showApp(name: string, { output, ...flags }: AppOutputFlags): Promise<void> {
  using apps = openApps(flags);
  const app = await findApp(apps, name);
  printOne(app, { output, table: details });
  if (output !== undefined) return;
  const { components, promises = [], exclusions = [], placement, parameters } = app.spec;
  section(
    'Components',
    components.map(({ name: one, title, minimum, maximum }) => `${one}: ${title}, ${minimum} to ${maximum ?? 'any number'}`),
  );
  section('Placement', fieldLines(placement));
  section('Parameters', fieldLines(parameters));
  section('Promised', promises);
  section('Not promised', exclusions);
}

function section(title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  write(`\n${title}:`);
  for (const line of lines) write(`  ${line}`);
}

/** The fields of a JSON schema, for people. */
export function fieldLines(schema: unknown): string[] {
  const { properties, required } = fieldsOf(schema);
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(fieldsOf(properties)).map(([name, value]) => {
    const { type, description } = fieldsOf(value);
    const kind = `${textOf(type) || 'any'}${needed.has(name) ? ', required' : ''}`;
    return `${name} (${kind})${textOf(description) === '' ? '' : `: ${textOf(description)}`}`;
  });
}
