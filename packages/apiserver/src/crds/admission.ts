import { status } from '@capstan/machinery';
import type { AdmissionPlugin } from '../registry/admission.ts';

/** Rejects new objects of a kind that is being deleted. */
export const definitionLifecycle: AdmissionPlugin = {
  name: 'DefinitionLifecycle',
  mutate({ operation, resource, subresource, name }) {
    if (operation !== 'CREATE' || subresource !== '' || resource.custom?.terminating !== true) return;
    throw status.forbidden(resource, name, 'create not allowed while custom resource definition is terminating');
  },
};
