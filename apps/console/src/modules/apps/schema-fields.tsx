import { type Allocation, allocationKind } from '@capstan/api';
import { Checkbox, MultiSelect, Select, TagsInput, Textarea, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import form from '../../components/form.module.css';
import { mostOptions } from '../../components/most-options.ts';
import { ownerOf, partsOf } from '../allocations/state.ts';
import { useLive } from '../live/use-live.ts';
import type { FieldFaults, FieldValue, FieldValues, SchemaField } from './schema.ts';

interface SchemaFieldsProps {
  readonly workspace: string;
  readonly namespace: string;
  readonly fields: readonly SchemaField[];
  readonly values: FieldValues;
  readonly faults: FieldFaults;
  readonly onChange: (values: FieldValues) => void;
}

/** The inputs of a form that a JSON schema describes. */
export function SchemaFields({ fields, values, faults, onChange, ...place }: SchemaFieldsProps) {
  const hasAllocations = fields.some(({ input }) => input.kind === 'allocation' || input.kind === 'allocations');
  const allocations = useLive(hasAllocations ? allocationKind : undefined, place);
  const usable = allocations.state === 'content' ? allocations.content.filter(isUsable) : [];
  return (
    <>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name]}
          fault={faults[field.name]}
          allocations={usable}
          onChange={(value) => onChange({ ...values, [field.name]: value })}
        />
      ))}
      {hasAllocations && allocations.state === 'content' && usable.length === 0 && (
        <p className={form['hint']}>
          No active allocation is yours.{' '}
          <Link to="/w/$workspace/allocations" params={{ workspace: place.workspace }}>
            Order whole nodes
          </Link>{' '}
          first; they appear here when they are active.
        </p>
      )}
    </>
  );
}

/** Allocations of units belong to their units. */
const isUsable = (allocation: Allocation): boolean =>
  allocation.status?.phase === 'Active' && allocation.metadata.deletionTimestamp === undefined && ownerOf(allocation) === undefined;

interface FieldProps {
  readonly field: SchemaField;
  readonly value: FieldValue | undefined;
  readonly fault: string | undefined;
  readonly allocations: readonly Allocation[];
  readonly onChange: (value: FieldValue) => void;
}

function Field({ field: { label, description, isRequired, input }, value, fault, allocations, onChange }: FieldProps) {
  const text = typeof value === 'string' ? value : '';
  const texts = Array.isArray(value) ? [...(value as readonly string[])] : [];
  const common = { label, description: description || undefined, error: fault, withAsterisk: isRequired };
  const choices = allocations.map((one) => ({ value: one.metadata.name!, label: `${one.metadata.name} · ${partsOf(one)}` }));
  switch (input.kind) {
    case 'allocation':
      return (
        <Select
          {...common}
          data={choices}
          value={text || null}
          placeholder={isRequired ? 'Choose an allocation' : 'None'}
          clearable={!isRequired}
          searchable
          limit={mostOptions}
          onChange={(next) => onChange(next ?? '')}
        />
      );
    case 'allocations':
      return (
        <MultiSelect
          {...common}
          data={choices}
          value={texts}
          placeholder={texts.length === 0 ? 'Choose allocations' : ''}
          searchable
          limit={mostOptions}
          clearable
          onChange={onChange}
        />
      );
    case 'choice':
      return (
        <Select
          {...common}
          data={[...input.choices]}
          value={text || null}
          clearable={!isRequired}
          onChange={(next) => onChange(next ?? '')}
        />
      );
    case 'flag':
      return (
        <Checkbox
          label={label}
          description={description || undefined}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'texts':
      return (
        <TagsInput
          {...common}
          value={texts}
          placeholder={texts.length === 0 ? 'Type one and press Enter' : ''}
          splitChars={[',', ' ']}
          acceptValueOnBlur
          onChange={onChange}
        />
      );
    case 'json':
      return (
        <Textarea
          {...common}
          placeholder={input.hint}
          autosize
          minRows={2}
          maxRows={10}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
          styles={{ input: { fontFamily: 'var(--font-code)' } }}
        />
      );
    case 'integer':
    case 'text':
      return (
        <TextInput
          {...common}
          placeholder={input.hint}
          value={text}
          {...(input.kind === 'integer' && { inputMode: 'numeric' as const })}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
  }
}
