import type { AdmissionPlugin } from '../../registry/admission.ts';
import { bindingAdmission } from './binding-admission.ts';
import { conversionAdmission } from './conversion-admission.ts';
import { defaultBindingAdmission } from './default-binding-admission.ts';
import { definitionAdmission } from './definition-admission.ts';
import { endpointSliceAdmission, exportAdmission } from './export-admission.ts';
import { pathAnnotations } from './path-annotation.ts';
import type { ExportAccess } from './reference.ts';
import { schemaAdmission } from './schema-admission.ts';

export interface ApiSharingOptions extends ExportAccess {
  readonly isBuiltin: (group: string, resource: string) => boolean;
}

/** Changes that are made through a view keep to what it shows. */
const throughViews: AdmissionPlugin = {
  name: 'View',
  mutate: (request) => request.context.info.scope?.admission?.mutate?.(request),
  validate: (request) => request.context.info.scope?.admission?.validate?.(request),
};

/** What holds for the kinds by which workspaces share APIs. */
export function apiSharingPlugins(options: ApiSharingOptions): AdmissionPlugin[] {
  return [
    pathAnnotations(options.objects),
    schemaAdmission,
    conversionAdmission(options.objects),
    exportAdmission(options.isBuiltin),
    endpointSliceAdmission(options),
    bindingAdmission(options),
    defaultBindingAdmission(options),
    definitionAdmission(options.isBuiltin),
    throughViews,
  ];
}
