import { expect, test } from 'vitest';
import { conformancePage } from './table.ts';

test('counts the outcomes of each server and shows the reasons beside the names', () => {
  const page = conformancePage([
    {
      title: 'sqlite',
      rows: [
        { name: 'one', needs: 'the collector', outcome: { state: 'passed' } },
        { name: 'two', outcome: { state: 'failed', reason: 'a | b\n<nil>' } },
        { name: 'three', outcome: { state: 'not applicable', reason: 'needs a controller' } },
      ],
    },
    { title: 'etcd', rows: [{ name: 'one', needs: 'the collector', outcome: { state: 'passed' } }] },
  ]);
  expect(page).toContain('| sqlite | 1 | 1 | 1 |\n| etcd | 1 | 0 | 0 |');
  expect(page).toContain('| one | passed | passed | the collector |  |');
  expect(page).toContain(String.raw`| two | **failed** | – |  | a \| b \<nil\> |`);
  expect(page).toContain('| three | not applicable yet | – |  | needs a controller |');
});
