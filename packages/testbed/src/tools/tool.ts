import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from '../command.ts';
import { describeTool, type ToolDescription, type ToolName } from './catalogue.ts';
import { handedOver } from './hand-over.ts';
import { withLock } from './lock.ts';
import { cachedPath, fromDebian, fromSource, type Making } from './make.ts';
import { findVersion, versionFits } from './version.ts';

export type Tool = { readonly path: string } | { readonly missing: string };

const asked = new Map<ToolName, Promise<Tool>>();

/**
 * Finds a real program: on PATH if new enough, else in our cache, else from Debian, else built from its pinned source. Searched once per
 * process.
 */
export function tool(name: ToolName, making: Making = {}): Promise<Tool> {
  let answer = asked.get(name);
  if (answer === undefined) {
    const known = handedOver(name);
    answer = known === undefined ? search(name, making) : Promise.resolve(known);
    asked.set(name, answer);
  }
  return answer;
}

/** The path of a required program. */
export async function requireTool(name: ToolName): Promise<string> {
  const found = await tool(name);
  if ('missing' in found) throw new Error(found.missing);
  return found.path;
}

/** The same, but of exactly the version in the catalogue, for tests that belong to a version. */
export async function requireExactTool(name: ToolName): Promise<string> {
  const { version, go, exact } = describeTool(name);
  const found = await find({ name, version, ...(go && { go }), ...exact });
  if ('missing' in found) throw new Error(found.missing);
  return found.path;
}

function search(name: ToolName, making: Making): Promise<Tool> {
  return find(describeTool(name), making).catch((error: unknown) => ({
    missing: `${name} is not available: ${error instanceof Error ? error.message : String(error)}`,
  }));
}

async function find(description: ToolDescription, making: Making = {}): Promise<Tool> {
  const cached = cachedPath(description);
  const { path, reason } = await onPath(description);
  if (path !== undefined) return { path };
  if (existsSync(cached)) return { path: cached };
  const makeIt = async (): Promise<Tool> => {
    if (existsSync(cached)) return { path: cached };
    const reasons = [reason];
    for (const make of [fromDebian, fromSource]) {
      const failure = await make(description, making).catch((error: unknown) => String(error));
      if (failure === undefined) return { path: cached };
      reasons.push(failure);
    }
    return { missing: `${description.name} is not available: ${reasons.join('; ')}` };
  };
  return withLock(`${cached}.guard`, makeIt, making.signal);
}

async function onPath({ name, onPath: wanted }: ToolDescription): Promise<{ path?: string; reason: string }> {
  if (wanted === undefined) return { reason: 'never taken from PATH' };
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find((file) => existsSync(file));
  if (path === undefined) return { reason: 'not on PATH' };
  const said = await run(path, wanted.versionArgs, { timeout: 20_000 });
  const version = findVersion(said.stdout);
  if (versionFits(version, wanted)) return { path, reason: '' };
  return { reason: `${path} is ${version ?? 'of unknown version'}, but at least ${wanted.atLeast} is required` };
}
