import { type Command, InvalidArgumentError, Option } from 'commander';
import type { KubeletTokenFlags } from './commands/kubelet-token.ts';
import { examples } from './help.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

function hours(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError('expected a whole number of hours, from 1 to 99999.');
  return Number(value);
}

/** `capstan kubelet-token`: lets kubelets join. */
export function addKubelets(program: Command): void {
  program
    .command('kubelet-token')
    .description('Let Kubernetes nodes join.')
    .command('create')
    .description('Create a bootstrap token with which kubelets request their certificate, and print it.')
    .addOption(new Option('--hours <number>', 'how long it can be used').argParser(hours).default(24))
    .addOption(new Option('--description <text>', 'what it is for'))
    .addOption(new Option('--bootstrap-kubeconfig <file>', 'also create the file that kubelets need to join'))
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addHelpText(
      'after',
      examples(
        ['capstan kubelet-token create --bootstrap-kubeconfig bootstrap.kubeconfig', ''],
        ['kubelet --bootstrap-kubeconfig bootstrap.kubeconfig --kubeconfig kubelet.kubeconfig', 'on the new node'],
      ),
    )
    .action(async (flags: KubeletTokenFlags) => (await import('./commands/kubelet-token.ts')).createKubeletToken(flags));
}
