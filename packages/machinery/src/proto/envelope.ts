import { DecodeError } from './error.ts';
import { WireReader, wire } from './wire-reader.ts';
import { BackwardWriter } from './wire-writer.ts';

/** The prefix of a `runtime.Unknown` in protobuf. */
const envelopePrefix = Buffer.from('k8s\0', 'latin1');

export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object itself, in the encoding named by `contentType`: protobuf if empty. */
  readonly raw: Buffer;
  readonly contentType: string;
}

/** Opens the envelope around every Kubernetes object in protobuf. */
export function decodeProtobuf(bytes: Buffer): Envelope {
  if (bytes.length === 0) throw new DecodeError('empty data');
  if (!bytes.subarray(0, 4).equals(envelopePrefix)) {
    throw new DecodeError(`provided data does not appear to be a protobuf message, expected prefix [${[...envelopePrefix].join(' ')}]`);
  }
  if (bytes.length === 4) throw new DecodeError('empty body');
  const reader = new WireReader(bytes.subarray(4));
  let apiVersion = '';
  let kind = '';
  let raw: Buffer = Buffer.alloc(0);
  let contentType = '';
  while (reader.nextTag()) {
    if (reader.number === 1) {
      reader.expect(wire.bytes, 'TypeMeta');
      const outer = reader.enter();
      while (reader.nextTag()) {
        if (reader.number === 1) apiVersion = text(reader, 'APIVersion');
        else if (reader.number === 2) kind = text(reader, 'Kind');
        else reader.skip();
      }
      reader.leave(outer);
    } else if (reader.number === 2) {
      reader.expect(wire.bytes, 'Raw');
      raw = reader.bytes();
    } else if (reader.number === 4) contentType = text(reader, 'ContentType');
    else reader.skip();
  }
  return { apiVersion, kind, raw, contentType };
}

/** Wraps the object in an envelope with its type, as clients send and receive it. */
export function encodeEnvelope({ apiVersion, kind }: { apiVersion: string; kind: string }, raw: Buffer): Buffer {
  const writer = new BackwardWriter();
  // Empty content type and encoding, which Kubernetes always writes.
  writer.string('');
  writer.tag(4, wire.bytes);
  writer.string('');
  writer.tag(3, wire.bytes);
  writer.bytes(raw);
  writer.tag(2, wire.bytes);
  const from = writer.length;
  writer.string(kind);
  writer.tag(2, wire.bytes);
  writer.string(apiVersion);
  writer.tag(1, wire.bytes);
  writer.closeMessage(1, from);
  return Buffer.concat([envelopePrefix, writer.result()]);
}

/** A watch event in protobuf: its length in four bytes, then its type and the object in its envelope. */
export function encodeWatchEvent(type: string, envelope: Buffer): Buffer {
  const writer = new BackwardWriter();
  writer.bytes(envelope);
  writer.tag(1, wire.bytes);
  writer.closeMessage(2, 0);
  writer.string(type);
  writer.tag(1, wire.bytes);
  const frame = Buffer.allocUnsafe(4);
  frame.writeUInt32BE(writer.length);
  return Buffer.concat([frame, writer.result()]);
}

function text(reader: WireReader, name: string): string {
  reader.expect(wire.bytes, name);
  return reader.string();
}
