import type { AdmissionPlugin } from '../../registry/admission.ts';
import { bindingAdmission } from './binding-admission.ts';
import { conversionAdmission } from './conversion-admission.ts';
import { defaultBindingAdmission } from './default-binding-admission.ts';
import { definitionAdmission, type ServedKinds } from './definition-admission.ts';
import { endpointSliceAdmission, exportAdmission } from './export-admission.ts';
import { pathAnnotations } from './path-annotation.ts';
import type { ExportAccess } from './reference.ts';
import { schemaAdmission } from './schema-admission.ts';

export type ApiSharingOptions = ExportAccess & ServedKinds;

/** Limits writes through a view to the objects that it shows. */
const throughViews: AdmissionPlugin = {
  name: 'View',
  mutate: (request) => request.context.info.scope?.admission?.mutate?.(request),
  validate: (request) => request.context.info.scope?.admission?.validate?.(request),
};

/** The admission plugins for the kinds that share APIs. */
export function apiSharingPlugins(options: ApiSharingOptions): AdmissionPlugin[] {
  return [
    pathAnnotations(options.objects),
    schemaAdmission,
    conversionAdmission(options.objects),
    exportAdmission(options.isBuiltin),
    endpointSliceAdmission(options),
    bindingAdmission(options),
    defaultBindingAdmission(options),
    definitionAdmission(options),
    throughViews,
  ];
}
