import type { ToolName } from './catalogue.ts';
import type { Tool } from './tool.ts';

const variable = 'CAPSTAN_TOOLS';

/** The environment by which processes learn what was found, so that each neither searches nor builds again. */
export function handOver(found: ReadonlyMap<ToolName, Tool>): Readonly<Record<string, string>> {
  return { [variable]: JSON.stringify(Object.fromEntries(found)) };
}

/** What the process that started this one has found. */
export function handedOver(name: ToolName): Tool | undefined {
  const text = process.env[variable];
  return text === undefined ? undefined : (JSON.parse(text) as Partial<Record<ToolName, Tool>>)[name];
}
