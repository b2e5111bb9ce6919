import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { scriptsOf } from '../../adapter/scripts.ts';
import { distributions } from './distribution.ts';
import { hashOf } from './drift.ts';
import { configOf } from './settings.ts';
import { instanceOf, memberOf } from './testing.ts';

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
