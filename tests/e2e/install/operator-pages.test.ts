import { existsSync } from 'node:fs';
import { HostNetwork, type HostProcess } from '@capstan/testbed';
import { describeUnless, describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readGuide, type Step } from './guide.ts';
import { Operator, patience, shows, uuid } from './operator.ts';

const stateDirectory = '/var/lib/capstan-node-agent';
const problem = await HostNetwork.problem();

/** Blocks that need something else begin with a comment that says what. */
const condition = ({ commands }: Step): string | undefined => /^# (.*)\n/.exec(commands)?.[1];

await describeWith(['kubectl'], "the operator's pages", ({ kubectl }) => {
  describeUnless(problem, 'run as written', () => {
    let operator: Operator;
    beforeAll(async () => {
      operator = await Operator.start(kubectl);
      // The platform is installed some time after the first start.
      await vi.waitFor(() => operator.type('capstan node list'), patience);
    });
    afterAll(() => operator?.[Symbol.asyncDispose]());

    const declare = (content: string): void => operator.machine.write(`${stateDirectory}/gpus.yaml`, content);

    /** Follows a page; `before` makes true what the text says before a block, and changes commands that name something of the day of the writing. */
    const read = async (page: string, before: Readonly<Record<string, (step: Step) => Promise<Step>>>): Promise<string[]> => {
      const skipped: string[] = [];
      const unused = new Set(Object.keys(before));
      for (const step of readGuide(page).steps) {
        const needs = condition(step);
        if (needs !== undefined) {
          skipped.push(needs);
          continue;
        }
        const start = [...unused].find((one) => step.commands.includes(one));
        if (start !== undefined) unused.delete(start);
        await operator.follow(start === undefined ? step : await before[start]!(step));
      }
      expect([...unused]).toEqual([]);
      return skipped;
    };

    test('docs/nodes.md', { timeout: 240_000 }, async () => {
      const { files } = readGuide('nodes.md');
      declare(files.get('gpus.yaml')!);
      operator.write('greet.yaml', files.get('greet.yaml')!);
      let sha256 = '';
      const skipped = await read('nodes.md', {
        'capstan node enroll gpu-1': async ({ commands, output }) => {
          const printed = await operator.paste(await operator.type(commands));
          // The last line is about systemd, which a host of the tests does not have.
          expect(shows(printed, output.slice(0, -1)), printed).toBe(true);
          return { commands: 'true', output: [] };
        },
        'capstan node forget-gpu': async (step) => {
          declare(files.get('gpus.yaml')!.replace('count: 8', 'count: 7'));
          await operator.follow({ commands: 'capstan node list', output: ['gpu-1 Ready - 8×H100 7 Healthy, 1 Missing 0.1.0+0'] });
          return step;
        },
        'capstan node clear-gpu': async ({ commands }) => {
          const [gpu] = /GPU-declared[\w-]+/.exec(await operator.type('capstan node show gpu-1'))!;
          return { commands: commands.replace(/GPU-\S+/, gpu), output: [] };
        },
        'capstan artifact add': async (step) => {
          await operator.type('echo "#!/bin/sh" > tool; tar -czf tool.tar.gz tool');
          [sha256 = ''] = (await operator.type('sha256sum tool.tar.gz')).split(' ');
          return step;
        },
        'artifact.fetch': async ({ commands }) => ({ commands: commands.replace(/sha256=\w+/, `sha256=${sha256}`), output: [] }),
        'capstan node upgrade': async (step) => {
          await operator.type('capstan node archive --data-dir capstan-data --build abcdef012345');
          return step;
        },
      });
      expect(skipped).toEqual(['on a machine with an H200', 'on a machine without GPUs', 'when gpu-1 is Locked']);
    });

    test('docs/allocations.md', { timeout: 240_000 }, async () => {
      declare(readGuide('nodes.md').files.get('gpus.yaml')!);
      await operator.paste(await operator.type('capstan node enroll gpu-1'));
      await operator.follow({ commands: 'capstan node list', output: ['gpu-1 Ready - 8×H100 8 Healthy 0.1.0+0'] });
      let busy: HostProcess | undefined;
      const skipped = await read('allocations.md', {
        // A process that does not belong to the allocation keeps one of its mounts.
        'capstan allocation delete training': async (step) => {
          const [uid] = uuid.exec(await operator.type('kubectl get allocation training -o jsonpath={.metadata.uid}'))!;
          const folder = `${stateDirectory}/allocations/${uid}/data`;
          const script = `mkdir -p ${folder} && mount -t tmpfs tmpfs ${folder} && cd ${folder} && touch kept && exec sleep 600`;
          busy = operator.machine.start('a process in the mount', ['sh', '-c', script]);
          await busy.waitUntil('it is there', () => existsSync(operator.machine.path(`${folder}/kept`)));
          return step;
        },
        'capstan node clean': async (step) => {
          await busy!.kill();
          return step;
        },
      });
      expect(skipped).toEqual([]);
    });
  });
});
