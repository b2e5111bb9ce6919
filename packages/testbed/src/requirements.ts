import { describe } from 'vitest';
import type { ToolName } from './tools/catalogue.ts';
import { tool } from './tools/tool.ts';

export type ToolPaths<Name extends ToolName> = Readonly<Record<Name, string>>;

/** Why tests that need these programs cannot run here; undefined if all are available. */
export async function skipReason(names: readonly ToolName[]): Promise<string | undefined> {
  for (const name of names) {
    const found = await tool(name);
    if ('missing' in found) return found.missing;
  }
  return undefined;
}

/** A `describe` that is skipped if there is a problem, with the problem in its name. */
export function describeUnless(problem: string | undefined, title: string, body: () => void): void {
  if (problem === undefined) {
    describe(title, body);
    return;
  }
  process.stderr.write(`SKIPPED ${title}: ${problem}\n`);
  describe.skip(`${title} [${problem}]`, body);
}

/**
 * A `describe` for tests that need real programs. If one is missing, the tests are skipped, and the name of the skipped block says why, so
 * that every report shows it. Await it at the top of the test file.
 */
export async function describeWith<Name extends ToolName>(
  needs: readonly Name[],
  title: string,
  body: (paths: ToolPaths<Name>) => void,
): Promise<void> {
  const paths: Partial<Record<Name, string>> = {};
  for (const name of needs) {
    const found = await tool(name);
    if ('missing' in found) return describeUnless(found.missing, title, () => body({} as ToolPaths<Name>));
    paths[name] = found.path;
  }
  describe(title, () => body(paths as ToolPaths<Name>));
}
