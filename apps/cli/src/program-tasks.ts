import { type Command, InvalidArgumentError, Option } from 'commander';
import type { LogFlags, TaskFlags } from './commands/task.ts';
import type { RunFlags } from './commands/task-run.ts';
import { examples } from './help.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

function wholeNumber(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError('expected a whole number.');
  return Number(value);
}

const nodeOption = (): Option => new Option('-n, --node <name>', 'only tasks of this node');
const outputOption = (): Option => new Option('-o, --output <format>', 'another format than the table').choices([...outputFormats]);

/** `capstan task`: work on nodes. */
export function addTasks(program: Command): void {
  const task = program
    .command('task')
    .description('Run tasks on nodes, and follow, cancel and repeat them.')
    .addHelpText(
      'after',
      examples(
        ['capstan task run gpu-1 gpu.inspect --follow', 'look at the GPUs of a node now'],
        ['capstan task run gpu-1 process.run --set script=greet', 'run the NodeScript "greet" as it is now'],
        ['capstan task run gpu-1 collect.logs --set \'files=["/var/log/syslog"]\' -f', ''],
        ['capstan task list --node gpu-1', ''],
        ['capstan task logs process-run-1f2e3d -f', 'the output, while it is written'],
        ['capstan task logs process-run-1f2e3d --node gpu-1', 'also after the node was removed'],
        ['capstan task cancel process-run-1f2e3d', 'end it, with everything that it started'],
        ['capstan task retry process-run-1f2e3d', 'run it again'],
        ['kubectl explain nodetask.spec', 'all types and their parameters, in the workspace root:platform'],
      ),
    );
  const command = (name: string, description: string): Command =>
    task.command(name).description(description).addOption(kubeconfigOption()).addOption(contextOption());
  command('list', 'List tasks, the oldest first.')
    .addOption(nodeOption())
    .addOption(outputOption())
    .addOption(new Option('-w, --watch', 'go on and print changes'))
    .action(async (flags: TaskFlags) => (await import('./commands/task.ts')).listTasks(flags));
  command('show <task>', 'Show a task and what it reported.')
    .addOption(nodeOption())
    .addOption(outputOption())
    .action(async (name: string, flags: TaskFlags) => (await import('./commands/task.ts')).showTask(name, flags));
  command('run <node> [type]', 'Create a task. The agent of the node runs it at most once.')
    .addOption(
      new Option('-s, --set <key=value>', 'a parameter of the task, as JSON or text; may be repeated').argParser(
        (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
      ),
    )
    .addOption(new Option('--name <task>', 'name of the task (default: the type and random digits)'))
    .addOption(new Option('--deadline <duration>', 'how long it may take, such as 90s or 1h30m (default: 10m)'))
    .addOption(new Option('-f, --follow', 'print its output and wait for its end; the exit code is 1 unless it succeeds'))
    .action(async (node: string, type: string | undefined, flags: RunFlags) => {
      process.exitCode = await (await import('./commands/task-run.ts')).runTask(node, type, flags);
    });
  command('logs <task>', 'Print the output of a task: from its node, or as far as the node has sent it.')
    .addOption(nodeOption())
    .addOption(new Option('-f, --follow', 'go on until the task has ended; the exit code is 1 if it failed'))
    .addOption(new Option('--tail <lines>', 'only the last lines').argParser(wholeNumber))
    .addOption(new Option('--attempt <number>', 'of an earlier attempt').argParser(wholeNumber))
    .action(async (name: string, flags: LogFlags) => {
      process.exitCode = await (await import('./commands/task.ts')).printLog(name, flags);
    });
  command('cancel <task>', 'End a task and everything that it started.')
    .addOption(nodeOption())
    .action(async (name: string, flags: TaskFlags) => (await import('./commands/task.ts')).cancelTask(name, flags));
  command('retry <task>', 'Run a task again that has ended.')
    .addOption(nodeOption())
    .action(async (name: string, flags: TaskFlags) => (await import('./commands/task.ts')).retryTask(name, flags));
}
