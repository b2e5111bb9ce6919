import type { Entry, StoreEvent } from '../contract.ts';
import { type HistoryRows, operation, type Rows, type WrittenReply } from './messages.ts';
import type { Batch } from './write-queue.ts';

/** The events of a committed batch. The main thread still has the values that it sent, so the worker returns only numbers. */
export function eventsOfBatch(batch: Batch, written: WrittenReply): StoreEvent[] {
  const events: StoreEvent[] = [];
  let revision = written.first;
  for (let index = 0; index < batch.keys.length; index++) {
    const createRevision = written.created[index]!;
    if (createRevision === 0) continue;
    const key = batch.keys[index]!;
    const kind = batch.operations[index];
    const value = written.previous?.[index];
    const previous: Entry | undefined =
      kind === operation.create || value === undefined ? undefined : { key, value, revision: batch.revisions[index]!, createRevision };
    events.push(
      kind === operation.delete
        ? { type: 'delete', revision, key, previous }
        : { type: 'put', revision, key, value: batch.values[index]!, createRevision, previous },
    );
    revision++;
  }
  return events;
}

export function eventsOfHistory(rows: HistoryRows, withPrevious: boolean): StoreEvent[] {
  return rows.keys.map((key, index) => {
    const revision = rows.revisions[index]!;
    const previousRevision = rows.previousRevisions[index]!;
    const previous: Entry | undefined =
      withPrevious && previousRevision > 0
        ? { key, value: rows.previousValues[index]!, revision: previousRevision, createRevision: rows.previousCreated[index]! }
        : undefined;
    return rows.deleted[index] === 1
      ? { type: 'delete', revision, key, previous }
      : { type: 'put', revision, key, value: rows.values[index]!, createRevision: rows.created[index]!, previous };
  });
}

export function toEntries(rows: Rows): Entry[] {
  return rows.keys.map((key, index) => ({
    key,
    value: rows.values[index]!,
    revision: rows.revisions[index]!,
    createRevision: rows.created[index]!,
  }));
}
