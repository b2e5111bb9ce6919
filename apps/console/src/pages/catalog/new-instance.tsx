import { type App, type AppOperation, appInstanceKind, appKind } from '@capstan/api';
import { ApiError } from '@capstan/client/browser';
import { Button, Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import form from '../../components/form.module.css';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { IfAllowed } from '../../modules/access/if-allowed.tsx';
import { useAccess } from '../../modules/access/use-can.ts';
import { planDeployment } from '../../modules/apps/actions.ts';
import { defaultVersion, supportOf } from '../../modules/apps/catalog.ts';
import { type FieldFaults, faultsIn, initialValues, objectOf, schemaFields } from '../../modules/apps/schema.ts';
import { SchemaFields } from '../../modules/apps/schema-fields.tsx';
import { useLiveObject } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { PlanView } from './plan-view.tsx';

/** The namespace in which the console creates instances. */
const namespace = 'default';
const namePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function NewInstance() {
  const { workspace = '', app: name = '' } = useParams({ strict: false });
  const found = useLiveObject(appKind, { workspace, name });
  const access = useAccess({ workspace, namespace, verb: 'create', kind: appInstanceKind });
  const app = found.state === 'content' ? found.content : undefined;
  return (
    <Page
      title={`Deploy ${app?.spec.displayName ?? name}`}
      above={
        <Link to="/w/$workspace/catalog" params={{ workspace }}>
          Catalog
        </Link>
      }
    >
      <FollowedView of={found} what="apps">
        {(content) =>
          content === undefined ? (
            <Empty icon="catalog" title={`The catalog has no app ${name}`}>
              The owner of the platform may have removed it.
            </Empty>
          ) : (
            <IfAllowed access={access} what="deploy apps" workspace={workspace}>
              <InstanceForm workspace={workspace} app={content} />
            </IfAllowed>
          )
        }
      </FollowedView>
    </Page>
  );
}

function InstanceForm({ workspace, app }: { readonly workspace: string; readonly app: App }) {
  const { versions, placement, parameters } = app.spec;
  const places = useMemo(() => schemaFields(placement), [placement]);
  const settings = useMemo(() => schemaFields(parameters), [parameters]);
  const [name, setName] = useState('');
  const [version, setVersion] = useState(() => defaultVersion(app));
  const [placed, setPlaced] = useState(() => initialValues(places));
  const [set, setSet] = useState(() => initialValues(settings));
  const [isTried, setTried] = useState(false);
  const [planned, setPlanned] = useState<AppOperation>();
  const place = { workspace, namespace };
  const faults = { placement: faultsIn(places, placed), parameters: faultsIn(settings, set) };
  const isNamed = namePattern.test(name);
  const isGood = isNamed && Object.keys(faults.placement).length + Object.keys(faults.parameters).length === 0;
  const plan = useMutation({
    mutationFn: () =>
      planDeployment(place, {
        name,
        app: app.metadata.name!,
        version,
        placement: objectOf(places, placed),
        parameters: objectOf(settings, set),
      }),
    onSuccess: setPlanned,
  });
  const isTaken = plan.error instanceof ApiError && plan.error.code === 409;
  const shown = (of: FieldFaults): FieldFaults => (isTried ? of : {});
  if (planned !== undefined)
    return (
      <PlanView
        {...place}
        instance={name}
        operation={planned.metadata.name!}
        onBack={() => {
          setPlanned(undefined);
          plan.reset();
        }}
      />
    );
  return (
    <form
      className={form['form']}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (isGood) plan.mutate();
      }}
    >
      <p className={form['hint']}>
        {app.spec.description} <strong>{supportOf(app).word}:</strong> {supportOf(app).meaning}
      </p>
      <TextInput
        label="Name"
        placeholder={`my-${app.metadata.name}`}
        value={name}
        error={isTaken ? 'An instance with this name exists' : isTried && !isNamed && 'Lower-case letters, digits and hyphens, at most 63'}
        onChange={(event) => {
          setName(event.currentTarget.value);
          plan.reset();
        }}
        withAsterisk
        data-autofocus
      />
      <Select
        label="Version"
        data={versions.map((one) => one.name)}
        value={version}
        allowDeselect={false}
        onChange={(next) => setVersion(next ?? version)}
      />
      <fieldset className={form['group']}>
        <legend>Placement</legend>
        <SchemaFields {...place} fields={places} values={placed} faults={shown(faults.placement)} onChange={setPlaced} />
      </fieldset>
      {settings.length > 0 && (
        <fieldset className={form['group']}>
          <legend>Parameters</legend>
          <SchemaFields {...place} fields={settings} values={set} faults={shown(faults.parameters)} onChange={setSet} />
        </fieldset>
      )}
      {plan.error !== null && !isTaken && (
        <p className={form['fault']} role="alert">
          {plan.error.message}
        </p>
      )}
      {isTried && !isGood && (
        <p className={form['fault']} role="alert">
          Some fields need a look.
        </p>
      )}
      <div className={form['buttons']}>
        <Button type="submit" size="sm" loading={plan.isPending}>
          Show the plan
        </Button>
        <span className={form['hint']}>Nothing is done until you have seen the steps.</span>
      </div>
    </form>
  );
}
