import type { KubeObject } from '@capstan/machinery/objects';
import { dump } from 'js-yaml';
import { Command } from '../../components/copy.tsx';

/** An object as people write it, to copy. */
export function YamlText({ object }: { readonly object: KubeObject }) {
  return <Command text={dump(object, { lineWidth: -1, noRefs: true })} label="Copy the YAML" />;
}
