import type { ToolName } from './catalogue.ts';
import type { Tool } from './tool.ts';

const variable = 'CAPSTAN_TOOLS';

/** Environment variables that pass found tools to child processes, so that these neither search nor build again. */
export function handOver(found: ReadonlyMap<ToolName, Tool>): Readonly<Record<string, string>> {
  return { [variable]: JSON.stringify(Object.fromEntries(found)) };
}

/** The tool that the parent process found. */
export function handedOver(name: ToolName): Tool | undefined {
  const text = process.env[variable];
  return text === undefined ? undefined : (JSON.parse(text) as Partial<Record<ToolName, Tool>>)[name];
}
