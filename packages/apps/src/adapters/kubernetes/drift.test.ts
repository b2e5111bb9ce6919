import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { scriptsOf } from '../../adapter/scripts.ts';
import { distributionOf, distributions } from './distribution.ts';
import { driftOf, hashOf } from './drift.ts';
import { findingsOf } from './probe-answer.ts';
import { configOf } from './settings.ts';
import { instanceOf, joined, memberOf } from './testing.ts';

const probe = scriptsOf('kubernetes').find(({ name }) => name === 'kubernetes-probe')!.content;
const pipeline = /\$\((grep -vE '[^']+' )"\$settings"( \| sha256sum \| cut -c 1-64)\)/.exec(probe)!;

test.each(distributions.map((distribution) => [distribution.program, distribution] as const))(
  'nodes and the adapter hash the configuration of %s alike, whatever its secrets are',
  (program, distribution) => {
    const instance = instanceOf({ app: program, parameters: { 'tls-san': ['lab.example.com'] } });
    const servers = [memberOf('server', 1), memberOf('server', 2)];
    for (const member of [...servers, memberOf('agent', 3)]) {
      const content = configOf({ distribution, instance, member, servers });
      const written = content.replaceAll(/\$\{secret:[^}]+\}/g, 'abcdef.0123').replaceAll('${fact:authority}', 'sha256:0123');
      expect(written).not.toContain('${');
      expect(written).not.toBe(content);
      const found = execFileSync('sh', ['-c', pipeline[1]! + pipeline[2]!], { input: written, encoding: 'utf8' }).trim();
      expect(found).toBe(hashOf(content));
    }
  },
);

test('a member may have joined any of the servers, and no other machine', () => {
  const instance = instanceOf();
  const members = [1, 2, 3].map((index) => memberOf('server', index, joined)).concat(memberOf('agent', 4, joined));
  const [stranger, agent] = [memberOf('server', 9, joined), members.at(-1)!];
  const drift = (founder: typeof stranger): string | undefined => {
    const config = hashOf(
      configOf({ distribution: distributionOf('rke2'), instance, member: agent, servers: members.slice(0, 3), founder }),
    );
    const seen = new Map([[agent.name, findingsOf({ exitCode: 0, output: `service active\nconfig ${config}\n` })]]);
    return driftOf(agent, { instance, members, seen });
  };
  expect(members.slice(0, 3).map(drift)).toEqual([undefined, undefined, undefined]);
  expect(drift(stranger)).toContain('was changed on the node');
});
