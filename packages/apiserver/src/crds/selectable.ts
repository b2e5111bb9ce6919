import type { Strategy } from '@capstan/kinds';
import { asJson, compileJsonPath, type KubeObject } from '@capstan/machinery';

/** The fields that objects can be selected by, besides name and namespace. */
export function selectableFields(paths: readonly string[]): Pick<Strategy, 'selectableLabels' | 'selectableFields'> {
  const labels = paths.map((path) => path.replace(/^\./, ''));
  const fields = paths.map(compileJsonPath);
  return {
    selectableLabels: labels,
    selectableFields: (object: KubeObject) => {
      const values: [string, string][] = fields.map((path, index) => {
        const value = path.find(asJson(object))[0];
        return [labels[index]!, value === undefined || value === null ? '' : String(value as string | number | boolean)];
      });
      return Object.fromEntries(values);
    },
  };
}
