import { expect, test } from 'vitest';
import { allowsWriting } from './rules.ts';

test.each([
  ['nothing', [], false],
  ['reading', [{ verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }], false],
  ['asking for rights', [{ verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectaccessreviews'] }], false],
  ['shells', [{ verbs: ['create'], apiGroups: [''], resources: ['pods/exec'] }], false],
  ['one kind', [{ verbs: ['patch'], apiGroups: ['compute.capstan.dev'], resources: ['gpuunits'] }], true],
  ['everything', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], true],
])('rules for %s allow to write objects: %s', (_, rules, allowed) => expect(allowsWriting(rules)).toBe(allowed));
