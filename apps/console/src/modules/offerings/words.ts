import type { Offering } from '@capstan/api';

/** The part of a node that an offering gives, in few words. */
export function offeringWords({ spec }: Offering): string {
  const { gpu, cpu, memory, fraction, exclusive } = spec;
  const model = [gpu?.model, gpu?.migProfile].filter(Boolean).join(' ');
  const gpus = gpu?.count === undefined ? model || undefined : `${gpu.count} × ${gpu.model === undefined ? `GPU ${model}`.trim() : model}`;
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
