import { type Command, InvalidArgumentError, Option } from 'commander';
import { examples } from './help.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';
import type { CopyFlags } from './units/copy.ts';
import type { RemoveFlags, StopFlags, WaitFlags } from './units/lifecycle.ts';
import type { ListFlags } from './units/list.ts';
import type { LogFlags } from './units/logs.ts';
import type { ForwardFlags } from './units/port-forward.ts';
import type { RunFlags } from './units/run.ts';
import type { ShellFlags } from './units/shell.ts';
import type { TopFlags } from './units/top.ts';
import type { UnitFlags, UnitOutputFlags } from './units/units.ts';

export function wholeNumber(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError('expected a whole number.');
  return Number(value);
}

export const repeated = (flags: string, what: string): Option =>
  new Option(flags, `${what}; may be repeated`).argParser((value: string, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
const numbered = (flags: string, what: string): Option => new Option(flags, what).argParser(wholeNumber);
const outputOption = (): Option =>
  new Option('-o, --output <format>', 'how to print it (default: a table)').choices([...outputFormats, 'name']);

export const continueOption = (): Option =>
  new Option('-c, --continue', 'go on with a copy that was cut: files with the same size and time are not sent again');

/** A command on units, with the flags that all of them have. */
export function addCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .addOption(new Option('-n, --namespace <name>', 'namespace of the units (default: that of the kubeconfig)'))
    .addOption(kubeconfigOption())
    .addOption(contextOption());
}

/** `capstan run`, alone: it starts faster without the others. */
export function addRun(program: Command): void {
  addCommand(program, 'run [command...]', 'Run a program on the fleet, with the files of the working directory, and print its output.')
    .passThroughOptions()
    .addOption(new Option('--offering <name>', 'the offering that it runs on (default: the smallest)'))
    .addOption(new Option('--gpu <model>', 'GPUs of this model, such as H100, instead of an offering'))
    .addOption(numbered('--gpus <number>', 'number of GPUs on each node'))
    .addOption(new Option('--gpu-memory <amount>', 'the least memory of each GPU, such as 80Gi'))
    .addOption(new Option('--cpu <cores>', 'cores, such as 8 or 500m'))
    .addOption(new Option('--memory <amount>', 'memory, such as 16Gi'))
    .addOption(new Option('-i, --image <image>', 'container image (default: the file system of the node, read-only)'))
    .addOption(new Option('--name <name>', 'name of the unit (default: that of the program and some digits)'))
    .addOption(repeated('-e, --env <name=value>', 'environment variable; NAME alone takes its value from here'))
    .addOption(repeated('-p, --port <name=number>', 'port that can be reached with "capstan port-forward"'))
    .addOption(repeated('-v, --volume <storage:/path>', 'storage that the program sees as a folder; :ro at the end to read only'))
    .addOption(new Option('-w, --workdir <path>', 'folder in which the program starts (default: that of the uploaded files)'))
    .addOption(numbered('--nodes <number>', 'run it on several nodes, with its rank in the environment'))
    .addOption(numbered('--priority <number>', 'a higher number is placed first'))
    .addOption(new Option('-d, --detach', 'do not wait for its end; print its name'))
    .addOption(new Option('-t, --tty', 'give it this terminal'))
    .addOption(new Option('--rm', 'delete the unit when the program has ended'))
    .addOption(new Option('--max-duration <time>', 'stop it after so much time, such as 12h'))
    .addOption(new Option('--idle-timeout <time>', 'stop it when its GPUs were idle for so long, such as 30m'))
    .addOption(
      new Option('--network <kind>', 'a network of its own, that of the node (with whole nodes only), or none').choices([
        'isolated',
        'host',
        'none',
      ]),
    )
    .addOption(new Option('--restart <when>', 'start the program again when it has ended').choices(['never', 'on-failure', 'always']))
    .addOption(new Option('--no-upload', 'do not upload the working directory'))
    .addOption(new Option('--max-upload <amount>', 'how much may be uploaded (default: 512Mi)'))
    .addOption(new Option('-q, --quiet', 'print nothing but the output of the program'))
    .addHelpText(
      'after',
      `${examples(
        ['capstan run -- python3 train.py --epochs 3', 'on the smallest offering, with the files of this folder'],
        ['capstan run --gpu H100 --gpus 8 -- torchrun train.py', 'on eight GPUs of one node'],
        ['capstan run --offering small -t -- bash', 'a shell'],
        ['capstan run -d -p web=8888 -i jupyter/base-notebook', 'in the background; then "capstan port-forward"'],
        ['capstan run --cpu 2 --memory 4Gi --no-upload -- nproc', ''],
      )}
Files that Git ignores are not uploaded. The exit code is that of the program, 125 if it did not run, and 130 after Ctrl-C, which stops
the unit; a second Ctrl-C leaves at once.
`,
    )
    .action(async (command: string[], flags: RunFlags) => {
      process.exitCode = await (await import('./units/run.ts')).runUnit(command, flags);
    });
}

export function addReading(program: Command): void {
  addCommand(program, 'ps', 'List the units that run or wait.')
    .addOption(new Option('-a, --all', 'also those that have ended'))
    .addOption(new Option('-w, --watch', 'go on and print changes'))
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples(
        ['capstan ps', ''],
        ['capstan ps --all', 'also units that have ended, with their exit codes'],
        ['capstan ps --watch', ''],
        ['capstan ps -o json', 'for programs'],
      ),
    )
    .action(async (flags: ListFlags) => (await import('./units/list.ts')).listUnits(flags));
  addCommand(program, 'top', 'Show the processor time, memory and GPUs that running units use.')
    .addOption(new Option('-w, --watch', 'go on, and show new numbers'))
    .addOption(new Option('-o, --output <format>', 'another format than the table').choices(['json', 'yaml']).conflicts('watch'))
    .addHelpText('after', examples(['capstan top', ''], ['capstan top --watch', ''], ['capstan top -o json', 'for programs']))
    .action(async (flags: TopFlags) => (await import('./units/top.ts')).topUnits(flags));
  addCommand(program, 'logs <unit>', 'Print the output of a unit.')
    .addOption(new Option('-f, --follow', 'go on until it has ended, also when the server restarts'))
    .addOption(new Option('--previous', 'of the program before its last restart'))
    .addOption(new Option('--since <time>', 'only the last part, such as 10m'))
    .addOption(numbered('--tail <lines>', 'only the last lines'))
    .addOption(new Option('--timestamps', 'with the time of each line'))
    .addHelpText('after', examples(['capstan logs -f --tail 20 train-1f2e', ''], ['capstan logs --since 1h train-1f2e', '']))
    .action(async (name: string, flags: LogFlags) => (await import('./units/logs.ts')).printLogs(name, flags));
  addCommand(program, 'events [unit]', 'List what happened to a unit, or to all.')
    .addOption(outputOption())
    .addHelpText('after', examples(['capstan events train-1f2e', 'why it waits, and why it ended'], ['capstan events', 'of all units']))
    .action(async (name: string | undefined, flags: UnitOutputFlags) => (await import('./units/events.ts')).listEvents(name, flags));
  addCommand(program, 'wait <unit>', 'Wait until a unit has reached a state.')
    .addOption(new Option('--for <state>', 'the state').choices(['running', 'ready', 'ended', 'deleted']).default('ended'))
    .addOption(numbered('--timeout <seconds>', 'give up after so many seconds'))
    .addHelpText(
      'after',
      `${examples(['capstan wait train-1f2e', 'until it has ended'], ['capstan wait web --for ready --timeout 60', ''])}
The exit code is that of the program for "ended", and 124 after the timeout.
`,
    )
    .action(async (name: string, flags: WaitFlags) => {
      process.exitCode = await (await import('./units/lifecycle.ts')).waitFor(name, flags);
    });
}

export function addStreams(program: Command): void {
  addCommand(program, 'shell <unit> [command...]', 'Open a shell in a running unit, or run a command there.')
    .passThroughOptions()
    .addOption(new Option('-t, --tty', 'give the command a terminal (default: for shells)'))
    .addOption(new Option('-T, --no-tty', 'no terminal'))
    .addHelpText(
      'after',
      examples(
        ['capstan shell train-1f2e', ''],
        ['capstan shell train-1f2e -- nvidia-smi', ''],
        ['capstan shell train-1f2e -- tar -c /data > data.tar', 'the exit code is that of the command'],
        ['capstan shell -t train-1f2e -- htop', ''],
      ),
    )
    .action(async (name: string, words: string[], flags: ShellFlags) => {
      // Options after the unit belong to the command, so the parser leaves the mark in front of them.
      const command = words[0] === '--' ? words.slice(1) : words;
      process.exitCode = await (await import('./units/shell.ts')).openShell(name, command, flags);
    });
  addCommand(program, 'attach <unit>', 'Connect this terminal with the program of a unit. Ctrl-] leaves it running.')
    .addOption(new Option('--no-stdin', 'send no input'))
    .addHelpText('after', examples(['capstan attach train-1f2e', ''], ['capstan attach --no-stdin train-1f2e', 'only look']))
    .action(async (name: string, flags: UnitFlags & { stdin?: boolean }) => {
      process.exitCode = await (await import('./units/shell.ts')).attachTo(name, flags);
    });
  addCommand(program, 'cp <source> <target>', 'Copy a file or folder into a running unit, or out of one.')
    .addOption(continueOption())
    .addHelpText(
      'after',
      examples(
        ['capstan cp data.csv train-1f2e:/tmp/', 'into a folder'],
        ['capstan cp train-1f2e:out ./results', 'a folder, under another name'],
        ['capstan cp ./a:b train-1f2e:x', 'a path here with a colon begins with ./ or /'],
      ),
    )
    .action(async (source: string, target: string, flags: CopyFlags) => (await import('./units/copy.ts')).copy(source, target, flags));
  addCommand(program, 'port-forward <unit> [ports...]', 'Make ports of a unit reachable from this machine.')
    .addOption(new Option('--address <address>', 'address to listen on').default('127.0.0.1'))
    .addHelpText(
      'after',
      examples(
        ['capstan port-forward notebook', 'all ports that the unit names'],
        ['capstan port-forward notebook 8888', ''],
        ['capstan port-forward notebook 9000:web :6006', 'at port 9000, and at any free one'],
      ),
    )
    .action(async (name: string, ports: string[], flags: ForwardFlags) =>
      (await import('./units/port-forward.ts')).forwardPorts(name, ports, flags),
    );
}

export function addLifecycle(program: Command): void {
  const noWait = (): Option => new Option('--no-wait', 'do not wait for its end');
  addCommand(program, 'stop <units...>', 'Stop units. Their GPUs are released; files in storages stay.')
    .addOption(noWait())
    .addHelpText(
      'after',
      examples(['capstan stop train-1f2e', 'then "capstan start" or "capstan rm"'], ['capstan stop --no-wait web worker', '']),
    )
    .action(async (names: string[], flags: StopFlags) => (await import('./units/lifecycle.ts')).stopUnits(names, flags));
  addCommand(
    program,
    'start <units...>',
    'Start units again that were stopped or have ended. Files are uploaded again from the working directory.',
  )
    .addOption(new Option('--max-upload <amount>', 'how much may be uploaded (default: 512Mi)'))
    .addHelpText('after', examples(['capstan start train-1f2e', ''], ['capstan start web worker', '']))
    .action(async (names: string[], flags: UnitFlags) => (await import('./units/lifecycle.ts')).startUnits(names, flags));
  addCommand(program, 'rm <units...>', 'Delete units that have ended.')
    .addOption(new Option('-f, --force', 'also those that run'))
    .addOption(noWait())
    .addHelpText('after', examples(['capstan rm train-1f2e', ''], ['capstan rm --force web worker', 'stops them first']))
    .action(async (names: string[], flags: RemoveFlags) => (await import('./units/lifecycle.ts')).removeUnits(names, flags));
}
