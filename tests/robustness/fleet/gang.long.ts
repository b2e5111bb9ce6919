import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import type { GPUUnit } from '@capstan/api';
import { type CommandResult, capstanProgram, HostNetwork, run } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Fleet, patience } from './fleet.ts';

const python = '/usr/bin/python3';
const problem = (await HostNetwork.problem()) ?? ((await run(python, ['--version'])).code === 0 ? undefined : `${python} is not installed`);

/**
 * Does with plain sockets what torchrun and `init_process_group` do: one process for each GPU, with the variables that torchrun derives from its own; all meet at
 * the master, add up their ranks, and leave together.
 */
const program = `
import os, socket, struct, sys, time

def launch():
    nodes, node, each = (int(os.environ['PET_' + name]) for name in ('NNODES', 'NODE_RANK', 'NPROC_PER_NODE'))
    os.environ.update(MASTER_ADDR=os.environ['PET_MASTER_ADDR'], MASTER_PORT=os.environ['PET_MASTER_PORT'], WORLD_SIZE=str(nodes * each))
    children = []
    for local in range(each):
        os.environ.update(RANK=str(node * each + local), LOCAL_RANK=str(local))
        pid = os.fork()
        if pid == 0:
            work()
            os._exit(0)
        children.append(pid)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))

def number(connection):
    data = b''
    while len(data) < 4:
        part = connection.recv(4 - len(data))
        if not part: raise SystemExit('a peer has left')
        data += part
    return struct.unpack('!i', data)[0]

def work():
    rank, size = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
    address = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
    if rank == 0:
        server = socket.create_server(address)
        peers = [server.accept()[0] for _ in range(size - 1)]
        total = sum(number(peer) for peer in peers)
        for peer in peers: peer.sendall(struct.pack('!i', total))
    else:
        for attempt in range(300):
            try:
                master = socket.create_connection(address, timeout=30)
                break
            except OSError: time.sleep(0.1)
        master.sendall(struct.pack('!i', rank))
        total = number(master)
    sys.stdout.write('rank %d of %d, sum %d\\n' % (rank, size, total))
    sys.stdout.flush()

launch()
`;

describeUnless(problem, 'a unit on two nodes', () => {
  let fleet: Fleet;
  beforeAll(async () => {
    fleet = await Fleet.start();
    await Promise.all([fleet.joined('n1'), fleet.joined('n2')]);
  });
  afterAll(() => fleet?.[Symbol.asyncDispose]());

  test('runs one process for each GPU, which find each other as with torchrun', async () => {
    const environment = { KUBECONFIG: fleet.directory.join('tenant.kubeconfig') };
    cpSync(fleet.directory.join('data/admin.kubeconfig'), environment.KUBECONFIG);
    // The program is uploaded to both nodes.
    const work = fleet.directory.join('work');
    mkdirSync(work);
    writeFileSync(fleet.directory.join('work/train.py'), program);
    const capstan = async (...args: string[]): Promise<CommandResult> => {
      const result = await fleet.network.run(['sh', '-c', 'cd "$0" && exec "$@"', work, process.execPath, capstanProgram, ...args], {
        timeout: 60_000,
        environment,
      });
      if (result.code !== 0) throw new Error(`capstan ${args.join(' ')}: ${result.stderr}`);
      return result;
    };
    await capstan('offering', 'create', 'whole', '--model', 'H200', '--gpus', '4', '--exclusive');
    await capstan('ws', 'use', 'root:main');
    await capstan('ws', 'create', 'gang', '--type', 'project', '--enter');
    const words = ['run', '--offering', 'whole', '--nodes', '2', '--network', 'host', '--name', 'train', '--', python, 'train.py'];
    const { stdout } = await vi.waitFor(() => capstan(...words), patience);
    // The output is that of the first node; the sum has come from both.
    expect(stdout.trimEnd().split('\n').sort()).toEqual([0, 1, 2, 3].map((rank) => `rank ${rank} of 8, sum 28`));
    const { items } = JSON.parse((await capstan('ps', '--all', '-o', 'json')).stdout) as { items: readonly GPUUnit[] };
    expect(items).toMatchObject([{ status: { phase: 'Succeeded' } }]);
    expect(items[0]?.status?.members?.map(({ node }) => node).sort()).toEqual(['n1', 'n2']);
  });
});
