import { bindings } from './bindings.ts';
import { churn } from './churn.ts';
import { crd } from './crd.ts';
import { crds } from './crds.ts';
import { create } from './create.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { memory, rest } from './memory.ts';
import type { Profile } from './profile.ts';
import { idleStreams, streams } from './streams.ts';
import { tunnelStreams } from './tunnel-streams.ts';
import { idleTunnelStreams, tunnels } from './tunnels.ts';
import { workspaces } from './workspaces.ts';

/** By their name on the command line, in the order of a comparison. */
export const profiles: ReadonlyMap<string, Profile> = new Map(
  Object.entries({
    ...{ rest, create, get, list, churn, memory, crd, crds, workspaces, bindings, streams, tunnels },
    ...{ 'idle-streams': idleStreams, 'idle-tunnel-streams': idleTunnelStreams, 'tunnel-streams': tunnelStreams },
  }),
);

export function profileNamed(name: string): Profile {
  const profile = profiles.get(name);
  if (profile === undefined) throw new Error(`expected one of the profiles ${[...profiles.keys()].join(', ')}; found ${name}`);
  return profile;
}
