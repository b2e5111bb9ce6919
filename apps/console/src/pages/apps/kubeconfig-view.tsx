import type { ClusterPlace } from '@capstan/api';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { dump } from 'js-yaml';
import { Command, CopyButton } from '../../components/copy.tsx';
import { downloadText } from '../../components/download.ts';
import form from '../../components/form.module.css';
import { Icon } from '../../components/icon.tsx';
import { kubeconfigOf } from '../../modules/apps/kubeconfig.ts';
import { AskedView } from '../../modules/problems/views.tsx';
import styles from './instance.module.css';

/** The command that makes a whole kubeconfig, and one without credentials to download. */
export function KubeconfigView(place: ClusterPlace) {
  const { workspace, namespace, name } = place;
  const made = useQuery({ queryKey: ['kubeconfig', workspace, namespace, name], queryFn: () => kubeconfigOf(place), retry: false });
  return (
    <div className={styles['stack']}>
      <Command text={`capstan app kubeconfig ${name} --namespace ${namespace} > ${name}.kubeconfig`} />
      <AskedView of={made} what="the kubeconfig">
        {(content) => <Copies name={name} text={dump(content, { lineWidth: -1, noRefs: true })} />}
      </AskedView>
    </div>
  );
}

function Copies({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <div className={form['buttons']}>
      <Button
        variant="default"
        leftSection={<Icon name="download" size={13} />}
        onClick={() => downloadText(`${name}.kubeconfig`, text, 'application/yaml')}
      >
        Download without credentials
      </Button>
      <CopyButton text={text} label="Copy the kubeconfig" />
      <span className={form['hint']}>The command adds yours. In the file, add a token of yours to the user {name}.</span>
    </div>
  );
}
