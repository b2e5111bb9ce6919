import { type GPUUnit, gpuUnitKind } from '@capstan/api';
import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import form from '../../components/form.module.css';
import { Page } from '../../components/page.tsx';
import { Loading } from '../../components/states.tsx';
import { IfAllowed } from '../../modules/access/if-allowed.tsx';
import { useAccess } from '../../modules/access/use-can.ts';
import { kubeClient } from '../../modules/kube/client.ts';
import { toast } from '../../modules/toasts/toasts.ts';
import { emptyDraft, faultsIn, type UnitDraft, unitOf } from '../../modules/units/draft.ts';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';
import { ProgramFields } from './program-fields.tsx';
import { ResourceFields } from './resource-fields.tsx';
import { SettingFields } from './setting-fields.tsx';

const YamlText = lazy(async () => ({ default: (await import('../../modules/yaml/yaml-text.tsx')).YamlText }));

/** The namespace in which the console creates units. */
const namespace = 'default';

export function NewUnit() {
  const workspace = useWorkspace();
  const navigate = useNavigate();
  const [draft, setDraft] = useState<UnitDraft>(emptyDraft);
  const [isTried, setTried] = useState(false);
  const [hasYaml, setYaml] = useState(false);
  const faults = faultsIn(draft);
  const isGood = Object.keys(faults).length === 0;
  const change = (part: Partial<UnitDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const create = useMutation({
    mutationFn: () => kubeClient(workspace).resource<GPUUnit>(gpuUnitKind).create(unitOf(draft, namespace)),
    onSuccess: () => {
      toast('good', `${draft.name} was created`);
      void navigate({ to: '/w/$workspace/units/$namespace/$name', params: { workspace, namespace, name: draft.name } });
    },
  });
  const access = useAccess({ workspace, namespace, verb: 'create', kind: gpuUnitKind });
  const fields = { draft, change, faults: isTried ? faults : {}, workspace, namespace };
  return (
    <Page
      title="New GPU unit"
      above={
        <Link to="/w/$workspace/units" params={{ workspace }}>
          GPU units
        </Link>
      }
    >
      <IfAllowed access={access} what="create units" workspace={workspace}>
        <form
          className={form['form']}
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            setTried(true);
            if (isGood) create.mutate();
          }}
        >
          <TextInput
            label="Name"
            placeholder="train"
            value={draft.name}
            error={isTried && faults.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            data-autofocus
          />
          <ResourceFields {...fields} />
          <ProgramFields {...fields} />
          <SettingFields {...fields} />
          {create.error !== null && (
            <p className={form['fault']} role="alert">
              {create.error.message}
            </p>
          )}
          {isTried && !isGood && (
            <p className={form['fault']} role="alert">
              Some fields need a look: {Object.keys(faults).join(', ')}.
            </p>
          )}
          <div className={form['buttons']}>
            <Button type="submit" size="sm" loading={create.isPending}>
              Create
            </Button>
            <Button variant="default" size="sm" onClick={() => setYaml(!hasYaml)} disabled={!isGood}>
              {hasYaml ? 'Hide the YAML' : 'Show as YAML'}
            </Button>
          </div>
          {hasYaml && isGood && (
            <Suspense fallback={<Loading />}>
              <YamlText object={unitOf(draft, namespace)} />
            </Suspense>
          )}
        </form>
      </IfAllowed>
    </Page>
  );
}
