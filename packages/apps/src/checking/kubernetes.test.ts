import { type App, appKind, newObject } from '@capstan/api';
import { expect, test } from 'vitest';
import { distributions } from '../adapters/kubernetes/distribution.ts';
import { planOf } from '../adapters/kubernetes/plan.ts';
import { kubernetesRegistration } from '../adapters/kubernetes/registration.ts';
import { instanceOf, joined, memberOf, requestOf } from '../adapters/kubernetes/testing.ts';
import { checkPlan } from './plan.ts';

const scripts = new Map(kubernetesRegistration.scripts().map(({ name, sha256 }) => [name, sha256]));
const operations = ['change', 'reconcile', 'repair', 'stop', 'start', 'drain', 'uncordon', 'snapshot', 'restore', 'rotate-certificates'];

test.each(distributions.map((distribution) => [distribution.program, distribution] as const))(
  'the platform accepts all plans of %s',
  (program, { artifacts, version, hasSnapshots }) => {
    const app = newObject(appKind, kubernetesRegistration.apps().find(({ metadata }) => metadata.name === program)!) as App;
    const hashes = Object.fromEntries(artifacts.map(({ name }, index) => [name, String(index).repeat(64)]));
    const instance = instanceOf({ app: program, version, artifacts: hashes });
    const secrets = new Set<string>();
    const facts: Record<string, string> = { snapshot: 'capstan-gpu-1-17' };
    const check = (type: string, members: ReturnType<typeof memberOf>[]): void => {
      const operation = { member: members.at(-1)!.name };
      const plan = planOf(requestOf(type, { instance, members, facts: { ...facts }, operation }));
      const names = new Set(members.map(({ name }) => name));
      const place = { app, members: names, secrets, facts: new Set(Object.keys(facts)), artifacts: new Set(Object.values(hashes)) };
      const checked = checkPlan(plan, { ...place, scripts: { hashOf: (script) => scripts.get(script) } });
      expect(checked.kind === 'problem' ? `${type}: ${checked.problem.message}` : 'ok').toBe('ok');
      for (const { name } of plan.secrets ?? []) secrets.add(name);
      for (const { keepsSecret, keepsFact } of plan.steps) {
        if (keepsSecret !== undefined) secrets.add(keepsSecret);
        if (keepsFact?.startsWith('init-') === true) facts[keepsFact] = 'agent';
        else if (keepsFact === 'authority') facts[keepsFact] = `sha256:${'0'.repeat(64)}`;
      }
    };
    check('deploy', [memberOf('server', 1), memberOf('agent', 2)]);
    const running = [memberOf('server', 1, joined), memberOf('agent', 2, joined)];
    for (const type of operations) if (hasSnapshots || (type !== 'snapshot' && type !== 'restore')) check(type, running);
    check('decommission', running);
  },
);
