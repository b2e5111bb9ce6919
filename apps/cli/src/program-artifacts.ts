import { type Command, Option } from 'commander';
import type { ArtifactFlags } from './artifacts/artifacts.ts';
import { examples } from './help.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

/** `capstan artifact`: files that nodes get from the API servers. */
export function addArtifacts(program: Command): void {
  const artifact = program
    .command('artifact')
    .description('Give files to nodes, such as the programs that apps install.')
    .addHelpText(
      'after',
      examples(
        ['capstan artifact add rke2.linux-amd64.tar.gz', 'prints its SHA-256; an upload that was cut goes on'],
        ['capstan artifact list', ''],
        ['capstan task run gpu-1 artifact.fetch --set sha256=4f2a… --set path=/opt/tool --set mode=0755 -f', 'bring it to a node'],
        ['capstan artifact remove rke2.linux-amd64.tar.gz', 'by its name or SHA-256'],
      ),
    );
  const command = (name: string, description: string): Command =>
    artifact.command(name).description(description).addOption(kubeconfigOption()).addOption(contextOption());
  command('add <file>', 'Upload a file.')
    .addOption(new Option('--name <name>', 'name for people (default: that of the file)'))
    .action(async (file: string, flags: ArtifactFlags & { name?: string }) =>
      (await import('./artifacts/artifacts.ts')).addArtifact(file, flags),
    );
  command('list', 'List artifacts, the oldest first.')
    .addOption(new Option('-o, --output <format>', 'another format than the table').choices([...outputFormats]))
    .action(async (flags: ArtifactFlags) => (await import('./artifacts/artifacts.ts')).listArtifacts(flags));
  command('remove <artifacts...>', 'Remove artifacts by their names or SHA-256. Nodes keep what they have.').action(
    async (wanted: string[], flags: ArtifactFlags) => (await import('./artifacts/artifacts.ts')).removeArtifacts(wanted, flags),
  );
}
