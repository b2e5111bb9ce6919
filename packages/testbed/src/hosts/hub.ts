import { Machine } from './machine.ts';

/** The address of the hub in the network of its machines, 192.0.2.0/24. */
export const hubAddress = '192.0.2.1';

const bridge = 'nodes';

/** A network with a bridge, to which machines are connected. */
export async function startHub(): Promise<Machine> {
  const hub = await Machine.start('hub', { isolation: 'network' });
  try {
    for (const command of [
      'link set lo up',
      `link add ${bridge} type bridge`,
      `address add ${hubAddress}/24 dev ${bridge}`,
      `link set ${bridge} up`,
      `route add default dev ${bridge}`,
    ])
      await hub.run('ip', ...command.split(' '));
  } catch (error) {
    await hub[Symbol.asyncDispose]();
    throw error;
  }
  return hub;
}

/** Connects a machine to the bridge of the hub. `link` names the hub's end of the cable. */
export async function plugIn(
  hub: Machine,
  machine: Machine,
  { link, address }: { readonly link: string; readonly address: string },
): Promise<void> {
  await hub.run('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(machine.pid));
  await hub.run('ip', 'link', 'set', link, 'master', bridge, 'up');
  const ip = (command: string): Promise<string> => machine.run('ip', ...command.split(' '));
  await ip('link set lo up');
  await ip(`address add ${address}/24 dev eth0`);
  await ip('link set eth0 up');
  await ip(`route add default via ${hubAddress}`);
}
