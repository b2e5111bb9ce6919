import { type App, millisecondsIn } from '@capstan/api';
import type { AdapterMember, AdapterProbe, InstanceRequest, MembersAnswer } from '../adapter/contract.ts';
import type { FoundAdapter } from '../adapter/finding.ts';
import { forbiddance } from '../checking/permissions.ts';
import type { Memory } from './memory.ts';
import type { Scene } from './scene.ts';

export interface ProbePlace {
  /** UID of the instance. */
  readonly instance: string;
  readonly app: App | undefined;
  readonly request: () => InstanceRequest;
  readonly adapter: () => FoundAdapter;
  /** The answer that has the probes of adapters that are web services. */
  readonly answer: MembersAnswer | undefined;
  readonly hashOf: (script: string) => string | undefined;
  readonly memory: Memory;
}

/**
 * The probes of members, as they are wanted now: the script changes with an upgrade, and the arguments with the instance and its nodes. While nobody can be asked, they stay as they
 * were. Each member is asked for once.
 */
export function probesOf({ instance, app, request, adapter, answer, hashOf, memory }: ProbePlace): Scene['probe'] {
  let members: ReadonlyMap<string, AdapterMember> | undefined;
  let asked: InstanceRequest | undefined;
  const ask = (name: string): AdapterProbe | undefined => {
    try {
      asked ??= request();
      members ??= new Map(asked.members.map((one) => [one.name, one]));
      const member = members.get(name);
      return member && adapter().probe(member, asked, answer);
    } catch {
      return undefined;
    }
  };
  const found = (name: string): ReturnType<Scene['probe']> => {
    const probe = app && memory.probe(instance, name, ask(name));
    const sha256 = probe && hashOf(probe.script);
    if (app === undefined || probe === undefined || sha256 === undefined) return undefined;
    const step = { type: 'process.run', task: { script: probe.script, arguments: probe.arguments } } as never;
    if (forbiddance(step, app.spec.permitted ?? {}, { hashOf }) !== undefined) return undefined;
    const { script, arguments: words = [], every } = probe;
    return { script, sha256, arguments: words, every: Math.max(1_000, millisecondsIn(every)) };
  };
  const known = new Map<string, ReturnType<Scene['probe']>>();
  return (name) => {
    if (!known.has(name)) known.set(name, found(name));
    return known.get(name);
  };
}
