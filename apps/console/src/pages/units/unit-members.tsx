import type { GPUUnit, UnitMember } from '@capstan/api';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Status, type Tone } from '../../components/status.tsx';
import { membersOf } from '../../modules/units/state.ts';

const tones: Readonly<Record<string, Tone>> = { Running: 'good', Ended: 'idle', Lost: 'bad', Restarting: 'warn' };

const columns: readonly Column<UnitMember>[] = [
  { id: 'rank', header: 'Rank', value: ({ rank }) => rank },
  { id: 'node', header: 'Node', value: ({ node }) => node },
  { id: 'phase', header: 'Phase', value: ({ phase }) => phase, cell: ({ phase }) => <Status tone={tones[phase] ?? 'busy'} word={phase} /> },
  { id: 'exit', header: 'Exit', value: ({ exitCode }) => exitCode, align: 'end', wideOnly: true },
  { id: 'restarts', header: 'Restarts', value: ({ restarts }) => restarts, align: 'end', wideOnly: true },
  { id: 'message', header: 'Message', value: ({ step, message, reason }) => step ?? message ?? reason, grow: true },
];

export function UnitMembers({ unit }: { readonly unit: GPUUnit }) {
  return <DataTable label="The unit on its nodes" columns={columns} rows={membersOf(unit)} idOf={({ rank }) => String(rank)} />;
}
