import { describe } from 'vitest';
import type { ToolName } from './tools/catalogue.ts';
import { tool } from './tools/tool.ts';

export type ToolPaths<Name extends ToolName> = Readonly<Record<Name, string>>;

/** Why tests that need these programs cannot run here, or undefined when all are there. */
export async function skipReason(names: readonly ToolName[]): Promise<string | undefined> {
  for (const name of names) {
    const found = await tool(name);
    if ('missing' in found) return found.missing;
  }
  return undefined;
}

/**
 * A `describe` for tests that need real programs. Where one is missing the tests are skipped, and the name of the skipped block says why, so that it
 * stands in every report. Await it at the top of the test file.
 */
export async function describeWith<Name extends ToolName>(
  needs: readonly Name[],
  title: string,
  body: (paths: ToolPaths<Name>) => void,
): Promise<void> {
  const paths: Partial<Record<Name, string>> = {};
  for (const name of needs) {
    const found = await tool(name);
    if ('missing' in found) {
      process.stderr.write(`SKIPPED ${title}: ${found.missing}\n`);
      describe.skip(`${title} [${found.missing}]`, () => body({} as ToolPaths<Name>));
      return;
    }
    paths[name] = found.path;
  }
  describe(title, () => body(paths as ToolPaths<Name>));
}
