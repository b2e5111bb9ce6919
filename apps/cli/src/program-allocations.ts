import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AllocationFlags, OrderFlags } from './commands/allocation.ts';
import type { PlanFlags } from './commands/allocation-plan.ts';
import type { OfferingFlags, OutputFlags } from './commands/offering.ts';
import type { StockFlags } from './commands/stock.ts';
import { examples } from './help.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

function whole(value: string): number {
  if (!/^-?\d{1,6}$/.test(value)) throw new InvalidArgumentError('expected a whole number.');
  return Number(value);
}

const numberOption = (flags: string, what: string): Option => new Option(flags, what).argParser(whole);
const outputOption = (): Option => new Option('-o, --output <format>', 'how to print it (default: a table)').choices([...outputFormats]);

function addCommand(to: Command, name: string, description: string): Command {
  return to.command(name).description(description).addOption(outputOption()).addOption(kubeconfigOption()).addOption(contextOption());
}

/** `capstan offering` and `capstan allocation`: what tenants can order, and their orders. */
export function addAllocations(program: Command): void {
  addOfferings(program);
  const allocation = program
    .command('allocation')
    .description('Order GPUs in the current workspace, and release them.')
    .addHelpText(
      'after',
      examples(
        ['capstan allocation create training --offering h100-8 --nodes 2 --watch', 'wait until it is granted'],
        ['capstan allocation list -o wide', 'with the devices'],
        ['capstan allocation delete training', 'release everything'],
        ['capstan allocation plan --offering h100-8', 'where it would go; for owners of the platform'],
      ),
    );
  const command = (name: string, description: string): Command =>
    addCommand(allocation, name, description).addOption(
      new Option('-n, --namespace <name>', 'namespace of the allocation').default('default'),
    );
  const watchOption = (what: string): Option => new Option('--watch', what);
  ordering(command('create <name>', 'Order an offering.'))
    .addOption(watchOption('wait until it is granted, and print why it waits'))
    .action(async (name: string, flags: AllocationFlags & OrderFlags) =>
      (await import('./commands/allocation.ts')).createAllocation(name, flags),
    );
  command('list', 'List the allocations of a namespace.')
    .addOption(watchOption('go on and print changes'))
    .action(async (flags: AllocationFlags) => (await import('./commands/allocation.ts')).listAllocations(flags));
  command('show <name>', 'Show an allocation and why it waits.')
    .addOption(watchOption('go on and print changes'))
    .action(async (name: string, flags: AllocationFlags) => (await import('./commands/allocation.ts')).showAllocation(name, flags));
  command('delete <name>', 'Delete an allocation. Its devices are released.')
    .addOption(watchOption('wait until they are released'))
    .action(async (name: string, flags: AllocationFlags) => (await import('./commands/allocation.ts')).deleteAllocation(name, flags));
  ordering(
    addCommand(
      allocation,
      'plan',
      'Show where an order would go now and what it would use, or why it would wait. For owners of the platform.',
    ),
  )
    .addOption(new Option('--workspace <path>', 'the workspace that would order (default: the current one)'))
    .action(async (flags: PlanFlags) => (await import('./commands/allocation-plan.ts')).planFor(flags));
}

function ordering(command: Command): Command {
  return command
    .addOption(new Option('--offering <name>', 'the offering').makeOptionMandatory())
    .addOption(numberOption('--nodes <number>', 'how many nodes get the offering each, all or none'))
    .addOption(new Option('--topology <label>', 'only nodes with the same value of this label'))
    .addOption(numberOption('--priority <number>', 'a higher number is served first'));
}

function addOfferings(program: Command): void {
  const offering = program
    .command('offering')
    .description('List what can be ordered, and offer more as the owner of the platform.')
    .addHelpText(
      'after',
      examples(
        ['capstan offering list', ''],
        ['capstan offering create h100-8 --model H100 --gpus 8 --nvlink', '8 connected GPUs, with their share of the node'],
        ['capstan offering create half --fraction 2', 'half of a node'],
        ['capstan offering stock half --units 2', 'keep two of them ready'],
      ),
    );
  addCommand(offering, 'list', 'List the offerings.').action(async (flags: OutputFlags) =>
    (await import('./commands/offering.ts')).listOfferings(flags),
  );
  addCommand(offering, 'create <name>', 'Create an offering in root:platform.')
    .addOption(new Option('--model <name>', 'model of the GPUs, such as H100 (default: any)'))
    .addOption(numberOption('--gpus <number>', 'GPUs on each node'))
    .addOption(new Option('--gpu-memory <quantity>', 'the least memory of each GPU, such as 80Gi'))
    .addOption(new Option('--mig-profile <name>', 'instances with this profile instead of whole GPUs'))
    .addOption(new Option('--nvlink', 'only GPUs that are connected by NVLink'))
    .addOption(new Option('--cpu <quantity>', 'cores (default: the share of the GPUs)'))
    .addOption(new Option('--memory <quantity>', 'memory (default: the share of the GPUs)'))
    .addOption(numberOption('--fraction <number>', 'one of so many equal parts of a node'))
    .addOption(new Option('--exclusive', 'a whole node'))
    .addOption(new Option('--pool <names...>', 'only nodes of these pools'))
    .addOption(new Option('--spread', 'prefer nodes with the most free GPUs'))
    .action(async (name: string, flags: OfferingFlags) => (await import('./commands/offering.ts')).createOffering(name, flags));
  addCommand(offering, 'stock <name>', 'Set how many warm units of an offering are kept ready, so that units start at once.')
    .addOption(numberOption('--units <number>', 'how many; 0 keeps none').makeOptionMandatory())
    .addOption(new Option('--image <name>', 'pull this image in advance; only units with the same one use the stock'))
    .action(async (name: string, flags: StockFlags) => (await import('./commands/stock.ts')).setStock(name, flags));
  const stock = program.command('stock').description('Show the warm units that the platform keeps ready.');
  addCommand(stock, 'list', 'List the warm units of all offerings. For owners of the platform.').action(async (flags: OutputFlags) =>
    (await import('./commands/stock.ts')).listStock(flags),
  );
}
