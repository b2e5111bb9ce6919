import { type Command, InvalidArgumentError, Option } from 'commander';
import type { OutputFlags } from './commands/offering.ts';
import type { QuotaFlags } from './commands/quota.ts';
import type { ReservationFlags } from './commands/reservation.ts';
import { examples } from './help.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

function whole(value: string): number {
  if (!/^\d{1,6}$/.test(value)) throw new InvalidArgumentError('expected a whole number.');
  return Number(value);
}

const numberOption = (flags: string, what: string): Option => new Option(flags, what).argParser(whole);
const outputOption = (): Option => new Option('-o, --output <format>', 'how to print it (default: a table)').choices([...outputFormats]);

function addCommand(to: Command, name: string, description: string): Command {
  return to.command(name).description(description).addOption(outputOption()).addOption(kubeconfigOption()).addOption(contextOption());
}

/** `capstan quota` and `capstan reservation`: how much tenants may have, and what is kept for them. */
export function addQuotas(program: Command): void {
  const quota = program
    .command('quota')
    .description('Limit how much of the fleet workspaces may have, and see how much they use.')
    .addHelpText(
      'after',
      examples(
        ['capstan quota show', 'the limits that hold for the current workspace'],
        ['capstan quota set root:acme --model H100=8 --allocations 20', 'for root:acme and everything below it'],
        ['capstan quota set homes --gpus 2', 'for every home that has no limits of its own'],
        ['capstan quota list', 'all limits; for owners of the platform'],
      ),
    );
  addCommand(quota, 'list', 'List all limits and their use. For owners of the platform.').action(async (flags: OutputFlags) =>
    (await import('./commands/quota.ts')).listQuotas(flags),
  );
  addCommand(quota, 'show [workspace]', 'Show the limits that hold for a workspace (default: the current one).').action(
    async (workspace: string | undefined, flags: OutputFlags) => (await import('./commands/quota.ts')).showQuota(workspace, flags),
  );
  addCommand(
    quota,
    'set <workspace>',
    'Replace the limits of a workspace, which hold for everything below it too. `homes` is the default of all homes.',
  )
    .addOption(numberOption('--gpus <number>', 'GPUs of all models'))
    .addOption(new Option('--model <model=number...>', 'GPUs of a model, such as H100=8; may be repeated'))
    .addOption(new Option('--gpu-memory <quantity>', 'memory of all GPUs together, such as 640Gi'))
    .addOption(new Option('--cpu <quantity>', 'cores'))
    .addOption(new Option('--memory <quantity>', 'memory of nodes, such as 1Ti'))
    .addOption(new Option('--storage <quantity>', 'sizes of all storages together, such as 10Ti'))
    .addOption(numberOption('--allocations <number>', 'allocations'))
    .addOption(new Option('--limit <measure=quantity...>', 'what another product measures, such as noteWords=100k; may be repeated'))
    .action(async (workspace: string, flags: QuotaFlags) => (await import('./commands/quota.ts')).setQuota(workspace, flags));
  addCommand(quota, 'delete <workspace>', 'Remove the limits of a workspace.').action(async (workspace: string, flags: OutputFlags) =>
    (await import('./commands/quota.ts')).deleteQuota(workspace, flags),
  );
  addReservations(program);
}

function addReservations(program: Command): void {
  const reservation = program
    .command('reservation')
    .description('Keep nodes or GPUs for a workspace until a time. For owners of the platform.')
    .addHelpText(
      'after',
      examples(
        ['capstan reservation create demo --workspace root:acme --node gpu-1 --until 36h', 'a whole node, from now on'],
        ['capstan reservation create demo --workspace root:acme --node gpu-1=4 --until 2031-05-06T07:00:00Z', '4 of its GPUs'],
        ['capstan reservation list', ''],
      ),
    );
  addCommand(reservation, 'create <name>', 'Keep nodes for a workspace and everything below it. Allocations that are there stay.')
    .addOption(new Option('--workspace <path>', 'the workspace').makeOptionMandatory())
    .addOption(new Option('--node <node...>', 'a node, or so many of its GPUs such as gpu-1=4; may be repeated').makeOptionMandatory())
    .addOption(new Option('--until <time>', 'when it ends: a time, or a length of time such as 90m, 36h or 14d').makeOptionMandatory())
    .addOption(new Option('--from <time>', 'when it begins (default: now)'))
    .addOption(new Option('--comment <text>', 'a note for people'))
    .action(async (name: string, flags: ReservationFlags) => (await import('./commands/reservation.ts')).createReservation(name, flags));
  addCommand(reservation, 'list', 'List the reservations. Those that have expired are deleted.').action(async (flags: OutputFlags) =>
    (await import('./commands/reservation.ts')).listReservations(flags),
  );
  addCommand(reservation, 'delete <name>', 'End a reservation.').action(async (name: string, flags: OutputFlags) =>
    (await import('./commands/reservation.ts')).deleteReservation(name, flags),
  );
}
