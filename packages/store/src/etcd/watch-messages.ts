import type { Entry, StoreEvent } from '../contract.ts';
import { readEntry, readHeader } from './messages.ts';
import { Reader, ReverseWriter } from './protobuf.ts';

export interface WatchCreate {
  readonly key: string;
  readonly end: string;
  /** An etcd revision, like those of the response; events have store revisions. */
  readonly startRevision: number;
  readonly previous: boolean;
}

export interface WatchResponse {
  readonly etcdRevision: number;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly cancelReason: string;
  /** More of the same batch follows. */
  readonly fragment: boolean;
  readonly events: StoreEvent[];
}

export function encodeWatchCreate(request: WatchCreate): Buffer {
  const writer = new ReverseWriter(request.key.length + request.end.length + 48);
  writer.boolean(8, true); // fragment
  writer.boolean(6, request.previous);
  writer.boolean(4, true); // progress_notify
  writer.integer(3, request.startRevision);
  writer.text(2, request.end);
  writer.text(1, request.key);
  writer.nested(1, 0);
  return writer.finish();
}

export function encodeProgressRequest(): Buffer {
  const writer = new ReverseWriter(8);
  writer.nested(3, 0);
  return writer.finish();
}

export function decodeWatchResponse(buffer: Buffer, skip: number): WatchResponse {
  const reader = new Reader(buffer);
  let etcdRevision = 0;
  let created = false;
  let canceled = false;
  let compactRevision = 0;
  let cancelReason = '';
  let fragment = false;
  const events: StoreEvent[] = [];
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) etcdRevision = readHeader(reader.nested());
    else if (field === 3) created = reader.boolean();
    else if (field === 4) canceled = reader.boolean();
    else if (field === 5) compactRevision = reader.integer();
    else if (field === 6) cancelReason = reader.text();
    else if (field === 7) fragment = reader.boolean();
    else if (field === 11) events.push(readEvent(reader.nested(), skip));
    else reader.skip();
  }
  return { etcdRevision, created, canceled, compactRevision, cancelReason, fragment, events };
}

function readEvent(reader: Reader, skip: number): StoreEvent {
  let isDeletion = false;
  let entry: Entry = { key: '', value: '', revision: 0, createRevision: 0 };
  let previous: Entry | undefined;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) isDeletion = reader.boolean();
    else if (field === 2) entry = readEntry(reader.nested(), skip);
    else if (field === 3) previous = readEntry(reader.nested(), skip);
    else reader.skip();
  }
  const { key, value, revision, createRevision } = entry;
  return isDeletion ? { type: 'delete', revision, key, previous } : { type: 'put', revision, key, value, createRevision, previous };
}
