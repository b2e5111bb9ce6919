import type { Offering } from '@capstan/api';

/** The part of a node that an offering gives, in few words. */
export function offeringWords({ spec }: Offering): string {
  const { gpu, cpu, memory, fraction, exclusive } = spec;
  const model = gpu?.model ?? 'GPU';
  const gpus =
    gpu?.count === undefined ? undefined : `${gpu.count} × ${gpu.migProfile === undefined ? model : `${model} ${gpu.migProfile}`}`;
  const parts = [
    exclusive ? 'a whole node' : undefined,
    fraction === undefined ? undefined : `1/${fraction} of a node`,
    gpus,
    gpu?.nvlink === undefined ? undefined : 'NVLink',
    cpu === undefined ? undefined : `${cpu} cpu`,
    memory === undefined ? undefined : String(memory),
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}
