import type { App } from '@capstan/api';
import { checkedAnswer } from './answers.ts';
import {
  type Adapter,
  type AdapterMember,
  type AdapterProbe,
  AdapterProblem,
  type InstanceRequest,
  type MembersAnswer,
} from './contract.ts';
import type { AdapterRegistration } from './registration.ts';

/** The adapter of an App, whichever kind it is. All answers have been checked for their form. */
export interface FoundAdapter extends Adapter {
  probe(member: AdapterMember, request: InstanceRequest, answer: MembersAnswer | undefined): AdapterProbe | undefined;
}

/** Somebody who could not be asked; asking again may help. */
export class AdapterUnavailable extends AdapterProblem {
  constructor(message: string) {
    super('AdapterUnavailable', message, { userFixable: false });
  }
}

export type WebAdapters = (app: App) => Adapter;

/** Finds the adapter of an App. Throws `AdapterUnavailable` if this Capstan does not have it. */
export function adapterFinder(registrations: readonly AdapterRegistration[], web: WebAdapters): (app: App) => FoundAdapter {
  const builtIn = new Map(registrations.map(({ adapter }) => [adapter.name, adapter]));
  return (app) => {
    const { builtIn: name, url } = app.spec.adapter;
    if (name !== undefined) {
      const adapter = builtIn.get(name);
      if (adapter === undefined) throw new AdapterUnavailable(`this version of Capstan has no adapter ${name}`);
      return { ...checkedAdapter(adapter), probe: (member, request) => adapter.probe(member, request) };
    }
    if (url === undefined) throw new AdapterUnavailable(`the App ${app.metadata.name} names no adapter`);
    return { ...checkedAdapter(web(app)), probe: ({ component }, _, answer) => answer?.probes?.[component] };
  };
}

function checkedAdapter(adapter: Adapter): Adapter {
  return {
    members: async (request) => checkedAnswer.members(await adapter.members(request)),
    plan: async (request) => checkedAnswer.plan(await adapter.plan(request)),
    observe: async (request) => checkedAnswer.observe(await adapter.observe(request)),
    access: async (request) => checkedAnswer.access(await adapter.access(request)),
  };
}
