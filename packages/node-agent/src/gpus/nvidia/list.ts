import { GpuError } from '../errors.ts';

/** The MIG devices that `nvidia-smi -L` lists, by card and by their index on it: the XML has neither their uuids nor their profiles. */
export type MigNames = ReadonlyMap<string, ReadonlyMap<number, { readonly uuid: string; readonly profile: string }>>;

const cardLine = /^GPU \d{1,3}: .{1,200} \(UUID: (GPU-[0-9a-f-]{1,64})\)\s*$/i;
const migLine = /^\s+MIG (\S{1,40})\s+Device\s+(\d{1,3}): \(UUID: (MIG-[0-9A-Za-z/-]{1,120})\)\s*$/;

export function parseList(text: string): MigNames {
  const cards = new Map<string, Map<number, { uuid: string; profile: string }>>();
  let devices: Map<number, { uuid: string; profile: string }> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const card = cardLine.exec(line);
    if (card !== null) cards.set(card[1]!, (devices = new Map()));
    const mig = migLine.exec(line);
    if (mig === null) continue;
    if (devices === undefined) throw new GpuError('Malformed', 'expected a GPU before the first MIG device in nvidia-smi -L, found none');
    devices.set(Number(mig[2]), { uuid: mig[3]!, profile: mig[1]! });
  }
  return cards;
}
