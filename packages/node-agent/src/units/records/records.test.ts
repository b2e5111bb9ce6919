import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { nodeUnit } from '../testing/node-units.ts';
import { newRecord, type UnitRecord } from './record.ts';
import { UnitRecords } from './records.ts';

const pending = (name: string): UnitRecord =>
  newRecord({ name, uid: name, generation: 1, spec: nodeUnit(name).spec, acceptedAt: { wall: 1, boot: 'one', uptime: 1 } });

test('a record is found again, in its latest form', async () => {
  using directory = temporaryDirectory('records');
  const [first, second] = [pending('u-1'), pending('u-2')];
  const prepared: UnitRecord = { ...second, state: { phase: 'Preparing' } };
  {
    await using records = await UnitRecords.open(directory.path);
    await records.write(first);
    await records.write(second);
    await records.write(prepared);
  }
  await using records = await UnitRecords.open(directory.path);
  expect([...records.all.values()]).toEqual(expect.arrayContaining([first, prepared]));
  await records.forget('u-1');
  expect(readdirSync(directory.path)).not.toContain('u-1');
});

test('half of a first record, as a power failure leaves it, means that the unit was never accepted', async () => {
  using directory = temporaryDirectory('records');
  const record = pending('u-1');
  {
    await using records = await UnitRecords.open(directory.path);
    await records.write(record);
  }
  const file = join(directory.path, 'u-1', 'first.json');
  const whole = readFileSync(file, 'utf8');
  for (const part of ['', whole.slice(0, whole.length / 2), '\0'.repeat(whole.length)]) {
    writeFileSync(file, part);
    await using records = await UnitRecords.open(directory.path);
    expect([records.all.size, records.isForgotten('u-1')]).toEqual([0, false]);
  }
  {
    await using records = await UnitRecords.open(directory.path);
    await records.write(record);
  }
  await using records = await UnitRecords.open(directory.path);
  expect(records.all.get('u-1')).toEqual(record);
});

test('a later record that cannot be read is not replaced by the first', async () => {
  using directory = temporaryDirectory('records');
  {
    await using records = await UnitRecords.open(directory.path);
    await records.write(pending('u-1'));
    await records.write({ ...pending('u-1'), state: { phase: 'Preparing' } });
  }
  writeFileSync(join(directory.path, 'u-1', 'record.json'), '{"version":1,"sta');
  const lines: string[] = [];
  await using records = await UnitRecords.open(directory.path, (line) => lines.push(line));
  expect([records.all.size, records.isForgotten('u-1'), lines.length]).toEqual([0, true, 1]);
});
