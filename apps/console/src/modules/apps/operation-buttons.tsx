import { type AllowedAction, type App, type AppConstraint, type AppInstance, appKind, appOperationKind } from '@capstan/api';
import { Button, Tooltip } from '@mantine/core';
import { useState } from 'react';
import { FormDialog } from '../../components/dialog.tsx';
import form from '../../components/form.module.css';
import { useCan } from '../access/use-can.ts';
import { sentence } from '../format/format.ts';
import { useLiveObject } from '../live/use-live.ts';
import { useAction } from '../toasts/use-action.ts';
import { beginOperation } from './actions.ts';
import { needsApp, offeredActions, refusedActions } from './offered.ts';
import { faultsIn, initialValues, objectOf, schemaFields } from './schema.ts';
import { SchemaFields } from './schema-fields.tsx';

interface OperationButtonsProps {
  readonly workspace: string;
  readonly instance: AppInstance;
  /** Only the operations on this member; those on the whole instance if absent. */
  readonly member?: string;
}

/** The operations that can be done now, and those that cannot with the reason. Nothing for people who may not begin operations. */
export function OperationButtons({ workspace, instance, member }: OperationButtonsProps) {
  const { name = '', namespace = '' } = instance.metadata;
  const app = useLiveObject(appKind, { workspace, name: instance.spec.app });
  const canOperate = useCan({ workspace, namespace, verb: 'create', kind: appOperationKind });
  const [asked, setAsked] = useState<AllowedAction>();
  const operations = app.state === 'content' ? (app.content?.spec.operations ?? []) : [];
  const isKnown = ({ action }: AllowedAction): boolean => !needsApp(action) || operations.some(({ name: known }) => known === action);
  const begin = useAction(
    ({ action }: AllowedAction) => beginOperation({ workspace, namespace }, { instance: name, type: action, member }),
    { done: ({ title }) => `${title}: requested` },
  );
  const press = (action: AllowedAction): void => {
    const hasFields = schemaFields(operations.find((one) => one.name === action.action)?.parameters).length > 0;
    if (action.isDestructive || hasFields) setAsked(action);
    else begin.mutate(action);
  };
  const all = offeredActions(instance, member);
  // Until the app is there, nobody knows which parameters its operations have.
  const isWaiting = app.state === 'loading';
  const offered = all.filter((action) => isWaiting || isKnown(action));
  const refused = [
    ...refusedActions(instance, member).map((one) => ({ ...one, title: titleOf(one, operations) })),
    ...all.filter((action) => !offered.includes(action)).map(withoutApp),
  ];
  if (!canOperate || offered.length + refused.length === 0) return null;
  return (
    <div className={form['buttons']}>
      {offered.map((action) => (
        <Button
          key={action.action}
          variant="default"
          size="compact-sm"
          onClick={() => press(action)}
          disabled={begin.isPending}
          loading={isWaiting && needsApp(action.action)}
          {...(action.isDestructive && { c: 'var(--bad)' })}
        >
          {action.title}
        </Button>
      ))}
      {refused.map(({ action, title, message }) => (
        <Refused key={action} title={title} message={message} />
      ))}
      {asked !== undefined && (
        <Ask
          workspace={workspace}
          instance={instance}
          action={asked}
          operation={operations.find((one) => one.name === asked.action)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </div>
  );
}

/** The app was removed from the catalog, or may not be read. */
const withoutApp = ({ action, title }: AllowedAction) => ({
  action,
  title,
  message: 'its parameters are not known, because the app in the catalog cannot be read or does not have it any more',
});

type Operation = NonNullable<App['spec']['operations']>[number];

const titleOf = ({ action }: AppConstraint, operations: readonly Operation[]): string =>
  operations.find(({ name }) => name === action)?.title ?? sentence(action.replaceAll('-', ' '));

function Refused({ title, message }: { readonly title: string; readonly message: string }) {
  return (
    <Tooltip label={sentence(message)} multiline maw={360}>
      <Button
        variant="default"
        size="compact-sm"
        data-disabled
        aria-disabled
        aria-description={message}
        onClick={(event) => event.preventDefault()}
      >
        {title}
      </Button>
    </Tooltip>
  );
}

interface AskProps {
  readonly workspace: string;
  readonly instance: AppInstance;
  readonly action: AllowedAction;
  readonly operation: Operation | undefined;
  readonly onClose: () => void;
}

/** Says what an operation does and asks for its parameters. */
function Ask({ workspace, instance, action, operation, onClose }: AskProps) {
  const { name = '', namespace = '' } = instance.metadata;
  const place = { workspace, namespace };
  const fields = schemaFields(operation?.parameters);
  const [values, setValues] = useState(() => initialValues(fields));
  const [isTried, setTried] = useState(false);
  const faults = faultsIn(fields, values);
  const { member, title, isDestructive } = action;
  const begin = useAction(
    () => beginOperation(place, { instance: name, type: action.action, member, parameters: objectOf(fields, values) }),
    { done: `${title}: requested`, onDone: onClose },
  );
  return (
    <FormDialog
      title={title}
      action={title}
      isDangerous={isDestructive === true}
      isActionFocused={fields.length === 0}
      isPending={begin.isPending}
      onSubmit={() => {
        setTried(true);
        if (Object.keys(faults).length === 0) begin.mutate();
      }}
      onClose={onClose}
    >
      <p className={form['hint']}>
        {operation?.description ?? 'The platform begins it as soon as no other operation runs.'} On {member ?? name}.
      </p>
      <SchemaFields {...place} fields={fields} values={values} faults={isTried ? faults : {}} onChange={setValues} />
    </FormDialog>
  );
}
