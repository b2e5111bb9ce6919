import { type UsageGroup, type UsageReport, usageCsv, usageGroups } from '@capstan/api';
import { Button, SegmentedControl, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { downloadText } from '../../components/download.ts';
import form from '../../components/form.module.css';
import { Icon } from '../../components/icon.tsx';
import { Facts, Section } from '../../components/page.tsx';
import plotStyles from '../../components/plot.module.css';
import { Plot } from '../../components/plot.tsx';
import { Empty } from '../../components/states.tsx';
import { sentence } from '../../modules/format/format.ts';
import { AskedView } from '../../modules/problems/views.tsx';
import { daysOf, hours, monthStart, type UsedSeconds, usageQuery } from '../../modules/usage/usage.ts';

type Item = UsageReport['items'][number];

const columnsBy = (group: UsageGroup): readonly Column<Item>[] => [
  { id: 'key', header: group[0]!.toUpperCase() + group.slice(1), value: ({ key }) => key || 'none' },
  { id: 'gpu', header: 'GPU hours', value: ({ gpuSeconds }) => gpuSeconds, cell: ({ gpuSeconds }) => hours(gpuSeconds), align: 'end' },
  {
    id: 'core',
    header: 'Core hours',
    value: ({ coreSeconds }) => coreSeconds,
    cell: ({ coreSeconds }) => hours(coreSeconds),
    align: 'end',
    wideOnly: true,
  },
  {
    id: 'memory',
    header: 'Memory GiB hours',
    value: ({ memoryGibSeconds }) => memoryGibSeconds,
    cell: ({ memoryGibSeconds }) => hours(memoryGibSeconds),
    align: 'end',
    wideOnly: true,
  },
  {
    id: 'storage',
    header: 'Storage GiB hours',
    value: ({ storageGibSeconds }) => storageGibSeconds,
    cell: ({ storageGibSeconds }) => hours(storageGibSeconds),
    align: 'end',
    wideOnly: true,
  },
  { id: 'allocations', header: 'Allocations', value: ({ allocations }) => allocations, align: 'end' },
];
const mostFirst = { id: 'gpu', desc: true };

export function Usage({ workspace }: { readonly workspace: string }) {
  const [from, setFrom] = useState(() => monthStart(new Date()));
  const [to, setTo] = useState('');
  const [group, setGroup] = useState<UsageGroup>('offering');
  const byDay = useQuery(usageQuery({ workspace, from, to, groupBy: 'day' }));
  const byGroup = useQuery(usageQuery({ workspace, from, to, groupBy: group }));
  const columns = useMemo(() => columnsBy(group), [group]);
  return (
    <div className={form['group']}>
      <div className={form['buttons']}>
        <TextInput type="date" size="xs" label="From" value={from} onChange={(event) => setFrom(event.currentTarget.value)} />
        <TextInput type="date" size="xs" label="Until" value={to} onChange={(event) => setTo(event.currentTarget.value)} />
      </div>
      <AskedView of={byDay} what="the usage">
        {(report) => <Days report={report} />}
      </AskedView>
      <Section
        title="Usage by"
        note={
          <SegmentedControl
            size="xs"
            aria-label="Group by"
            data={usageGroups.map((value) => ({ value, label: sentence(value) }))}
            value={group}
            onChange={(chosen) => setGroup(chosen as UsageGroup)}
          />
        }
        actions={
          <Button
            variant="default"
            leftSection={<Icon name="download" size={13} />}
            disabled={byGroup.data === undefined}
            onClick={() =>
              downloadText(`usage-${workspace.replaceAll(':', '-')}-${group}.csv`, `${usageCsv(byGroup.data!).join('\n')}\n`, 'text/csv')
            }
          >
            CSV
          </Button>
        }
      >
        <AskedView of={byGroup} what="the usage">
          {({ items }) =>
            items.length === 0 ? (
              <Empty icon="tenancy" title="Nothing was used in this time">
                Allocations count from the moment in which they get their devices.
              </Empty>
            ) : (
              <DataTable key={group} label="Usage" columns={columns} rows={items} idOf={({ key }) => key} sortBy={mostFirst} />
            )
          }
        </AskedView>
      </Section>
    </div>
  );
}

const amounts: readonly (readonly [UsedSeconds, string])[] = [
  ['gpuSeconds', 'GPU hours'],
  ['coreSeconds', 'Core hours'],
  ['memoryGibSeconds', 'Memory GiB hours'],
  ['storageGibSeconds', 'Storage GiB hours'],
];

const shortNumber = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 2 });

function Days({ report }: { readonly report: UsageReport }) {
  const plots = useMemo(
    () =>
      amounts
        // GPU hours are always shown, so that it is clear that there were none.
        .filter(([field]) => field === 'gpuSeconds' || report.total[field] > 0)
        .map(([field, label]) => {
          const { times, hours: values } = daysOf(report, field);
          return { label, times, series: [{ label, values }] };
        }),
    [report],
  );
  const { gpuSeconds, coreSeconds, memoryGibSeconds, storageGibSeconds, allocations } = report.total;
  return (
    <>
      <Facts
        facts={[
          ['GPU hours', hours(gpuSeconds)],
          ['Core hours', hours(coreSeconds)],
          ['Memory GiB hours', hours(memoryGibSeconds)],
          ['Storage GiB hours', hours(storageGibSeconds)],
          ['Allocations', allocations.toLocaleString('en')],
        ]}
      />
      <div className={plotStyles['plots']}>
        {plots.map(({ label, times, series }) => (
          <Plot key={label} title={`${label} by day`} latest="" times={times} series={series} format={shortNumber} bars />
        ))}
      </div>
    </>
  );
}
