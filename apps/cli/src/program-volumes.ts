import { type Command, Option } from 'commander';
import { examples } from './help.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';
import { continueOption } from './program-units.ts';
import type { UnitFlags, UnitOutputFlags } from './units/units.ts';
import type { FileFlags } from './volumes/files.ts';
import type { SnapshotFlags } from './volumes/snapshots.ts';
import type { CreateFlags } from './volumes/volumes.ts';

const outputOption = (): Option =>
  new Option('-o, --output <format>', 'how to print it (default: a table)').choices([...outputFormats, 'name']);

/** `capstan volume`: files that outlive units. */
export function addVolumes(program: Command): void {
  const volume = program
    .command('volume')
    .description('Keep files that outlive units.')
    .addHelpText(
      'after',
      examples(
        ['capstan volume create data --size 100Gi', 'on the node of the first unit that mounts it'],
        ['capstan run -v data:/data -- python3 train.py', ''],
        ['capstan volume cp ./dataset data:/', ''],
        ['capstan volume ls data:/dataset', ''],
        ['capstan volume snapshot data', 'keeps its files as they are now'],
      ),
    );
  const command = (name: string, description: string): Command =>
    volume
      .command(name)
      .description(description)
      .addOption(new Option('-n, --namespace <name>', 'namespace of the volume (default: that of the kubeconfig)'))
      .addOption(kubeconfigOption())
      .addOption(contextOption());
  addCreating(command);
  command('list', 'List the volumes of a namespace.')
    .addOption(outputOption())
    .action(async (flags: UnitOutputFlags) => (await import('./volumes/volumes.ts')).listVolumes(flags));
  command('show <name>', 'Show a volume.')
    .addOption(outputOption())
    .action(async (name: string, flags: UnitOutputFlags) => (await import('./volumes/volumes.ts')).showVolume(name, flags));
  command('resize <name> <size>', 'Make a volume larger.')
    .addOption(outputOption())
    .action(async (name: string, size: string, flags: UnitOutputFlags) =>
      (await import('./volumes/volumes.ts')).resizeVolume(name, size, flags),
    );
  command('recover <name>', 'Repeat a preparation that failed, or repair a damaged file system.')
    .addOption(outputOption())
    .action(async (name: string, flags: UnitOutputFlags) => (await import('./volumes/volumes.ts')).recoverVolume(name, flags));
  command('rm <names...>', 'Delete volumes that no unit mounts, with their files.')
    .addOption(new Option('--no-wait', 'do not wait until the files are deleted'))
    .action(async (names: string[], flags: UnitFlags & { wait: boolean }) =>
      (await import('./volumes/volumes.ts')).removeVolumes(names, flags),
    );
  addSnapshots(command);
  addFiles(command);
}

type Making = (name: string, description: string) => Command;

function addCreating(command: Making): void {
  command('create <name>', 'Create a volume.')
    .addOption(new Option('--size <amount>', 'how much fits, such as 100Gi; it may grow later').makeOptionMandatory())
    .addOption(new Option('--class <name>', 'a directory that several nodes share (default: local, the disk of one node)'))
    .addOption(new Option('--node <name>', 'node that has it (default: that of the first unit that mounts it)'))
    .addOption(new Option('--copy-of <volume>', 'begin with the files of another volume'))
    .addOption(new Option('--snapshot <name>', 'begin with the files of a snapshot'))
    .addOption(new Option('--image <reference>', 'begin with the files of an OCI image'))
    .addOption(new Option('--url <url>', 'begin with a file of the web'))
    .addOption(new Option('--sha256 <hash>', 'its SHA-256'))
    .addOption(new Option('--unpack <how>', 'unpack the file').choices(['tar', 'tar-gzip']))
    .addOption(new Option('--retain', 'keep the files when the volume is deleted; one of the same name gets them back'))
    .addOption(outputOption())
    .action(async (name: string, flags: CreateFlags) => (await import('./volumes/volumes.ts')).createVolume(name, flags));
}

function addSnapshots(command: Making): void {
  const size = (): Option => new Option('--size <amount>', 'how much fits (default: the size of the volume)');
  const retain = (): Option => new Option('--retain', 'keep the files when it is deleted');
  command('snapshot <volume> [name]', 'Keep the files of a volume as they are now.')
    .addOption(size())
    .addOption(retain())
    .addOption(new Option('--no-wait', 'do not wait until it is taken'))
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples(
        ['capstan volume snapshot data before-training', ''],
        ['capstan volume clone before-training data-2', 'a volume with the files of the snapshot'],
      ),
    )
    .action(async (volume: string, name: string | undefined, flags: SnapshotFlags) =>
      (await import('./volumes/snapshots.ts')).takeSnapshot(volume, name, flags),
    );
  command('snapshots [volume]', 'List the snapshots of a volume, or of all.')
    .addOption(outputOption())
    .action(async (volume: string | undefined, flags: UnitOutputFlags) =>
      (await import('./volumes/snapshots.ts')).listSnapshots(volume, flags),
    );
  command('clone <source> <name>', 'Create a volume with the files of another volume, or of a snapshot.')
    .addOption(size())
    .addOption(retain())
    .addOption(outputOption())
    .action(async (source: string, name: string, flags: SnapshotFlags) =>
      (await import('./volumes/snapshots.ts')).cloneVolume(source, name, flags),
    );
}

function addFiles(command: Making): void {
  const offering = (): Option =>
    new Option('--offering <name>', 'for a volume that is on no node yet: one of the nodes of this offering gets it');
  command('cp <source> <target>', 'Copy a file or folder into a volume, or out of one.')
    .addOption(offering())
    .addOption(continueOption())
    .addHelpText(
      'after',
      examples(
        ['capstan volume cp ./dataset data:/', 'into a volume'],
        ['capstan volume cp data:/results ./results', 'a folder, under another name'],
      ),
    )
    .action(async (source: string, target: string, flags: FileFlags) =>
      (await import('./volumes/files.ts')).copyVolume(source, target, flags),
    );
  command('ls <volume>', 'List files of a volume, such as data or data:/folder.')
    .addOption(offering())
    .action(async (place: string, flags: FileFlags) => {
      process.exitCode = await (await import('./volumes/files.ts')).listFiles(place, flags);
    });
}
