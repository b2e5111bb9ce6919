export { type ApplyRequest, type ApplyResult, applyInParts, applyPatch } from './apply/apply-patch.ts';
export { mergeConfiguration, UnfitConfiguration } from './apply/configuration.ts';
export * as fieldSet from './apply/field-set.ts';
export { decodeFields, MalformedFields } from './apply/fields-v1.ts';
export { GoValue } from './apply/go-text.ts';
export { extractItems } from './apply/remove-items.ts';
export { type ManagedUpdate, updateManaged, updateManagedInParts } from './apply/update-managed.ts';
export { Backoff, type BackoffLimits, type BackoffOptions, backoffAfter } from './backoff/backoff.ts';
export { BoundedMap } from './bounded/bounded-map.ts';
export { type CheckOptions, type CheckResult, checkObject, checkObjectInParts } from './codec/check.ts';
export { applySchemaDefaults, applySchemaDefaultsInParts } from './codec/defaults.ts';
export { endOfString } from './codec/depth.ts';
export { CodecError, cannotBeHandled, type KindOfBody, strictDecodingMessage, unrecognizedBody } from './codec/error.ts';
export { parseExact } from './codec/exact.ts';
export { goTypeName } from './codec/go-type.ts';
export { parseJson, parseJsonInParts, readTypeMeta, type TypeMeta, typeMetaError } from './codec/json.ts';
export { parseInParts, stringifyInParts } from './codec/json-parts.ts';
export { checkLiterals, markedProblem, markLiterals, unmarked } from './codec/literals.ts';
export { hasMoreValues, hasWideObject } from './codec/values.ts';
export { parseYaml, parseYamlInParts, parseYamlStrictly, type StrictYaml, yamlDuplicates } from './codec/yaml.ts';
export type { FieldError, FieldErrorType } from './field/error.ts';
export * as fieldError from './field/error.ts';
export { FieldPath } from './field/path.ts';
export { type Fields, fieldsOf, isAbsent, itemsOf, maybeFields, numberOf, stringMapOf, textOf, textsOf } from './fields/reading.ts';
export * from './json.ts';
export { compileJsonPath, type JsonPath, JsonPathError, printJsonPathValue } from './jsonpath/jsonpath.ts';
export { type ConditionObject, validateConditions } from './meta/conditions.ts';
export { type GroupVersion, parseApiVersion } from './meta/group-version.ts';
export { validateFieldManager } from './meta/manager.ts';
export type { NameCheck } from './meta/names.ts';
export * as names from './meta/names.ts';
export * from './meta/options.ts';
export { parseDeleteOptions, parseListOptions, parsePatchOptions, type Query, queryBoolean, queryInteger } from './meta/query.ts';
export { jsonKey, sameJson, sameJsonInParts } from './meta/same-json.ts';
export {
  fieldImmutable,
  type MetaRules,
  validateLabels,
  validateMetaChange,
  validateObjectMeta,
  validateObjectMetaUpdate,
  validateStandardFinalizer,
} from './meta/validate.ts';
export {
  Counter,
  type GaugeOptions,
  Histogram,
  type HistogramOptions,
  type LabelledNumbers,
  type MetricLabels,
  Metrics,
  metricsType,
} from './metrics/metrics.ts';
export { openapiV3Index, openapiV3Path } from './openapi/index-document.ts';
export { builtinOpenApiResources, type OpenApiResource, type OpenApiSchemaSource, type OpenApiSubresource } from './openapi/resource.ts';
export { openapiV2 } from './openapi/v2.ts';
export { openapiV2Protobuf } from './openapi/v2-protobuf.ts';
export { type DocumentInfo as OpenApiDocumentInfo, openapiV3 } from './openapi/v3.ts';
export type { PatchReading } from './patch/errors.ts';
export { patchedObject } from './patch/errors.ts';
export { applyOperations, jsonPatchInParts, UnfitOperation } from './patch/json-patch.ts';
export { mergePatch } from './patch/merge-patch.ts';
export { strategicMergePatch } from './patch/strategic-merge-patch.ts';
export { matchesIn } from './pattern/counted-text.ts';
export { compilePattern, compileRe2, type Pattern, PatternError, patternSteps } from './pattern/pattern.ts';
export { decodeMessage } from './proto/decode.ts';
export { encodeMessage } from './proto/encode.ts';
export { decodeProtobuf, type Envelope, encodeEnvelope, encodeWatchEvent } from './proto/envelope.ts';
export { DecodeError } from './proto/error.ts';
export * from './quantity/quantity.ts';
export * from './quota/amounts.ts';
export type { Measure } from './quota/measure.ts';
export { podAmounts } from './quota/pod-amounts.ts';
export { isTerminatingPod, unitPodLabel } from './quota/pods.ts';
export { isWorkspaceQuota, misplacedQuotaWarning, workspaceQuotaNamespace } from './quota/reach.ts';
export { quotaScopes, type Scope } from './quota/scope.ts';
export { measureOf, printSource, quotaSource } from './quota/sources.ts';
export { aggregateRules, staleAggregations } from './rbac/aggregation.ts';
export { type PolicyRule, rulesOf } from './rbac/rule.ts';
export { builtinGroups, builtinResources, builtinTypes, type TypeTable } from './schema/table.ts';
export type { GroupInfo, ResourceInfo, SubresourceInfo } from './schema/table-format.ts';
export type * from './schema/type.ts';
export {
  checkFieldLabels,
  escapeFieldValue,
  everyField,
  type FieldRequirement,
  type FieldSelector,
  parseFieldSelector,
  type SelectableFields,
} from './selector/field.ts';
export {
  everything,
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  nothing,
  parseLabelSelector,
  selectorOf,
} from './selector/label.ts';
export { type SelectorRules, selectorOfObject, validateLabelSelector } from './selector/object.ts';
export type { LabelSelectorObject } from './selector/selector-object.ts';
export { shorten } from './status/shorten.ts';
export * as status from './status/status.ts';
export { type GroupKind, type GroupResource, type Status, type StatusCause, type StatusDetails, StatusError } from './status/status.ts';
export { type CompiledSchema, compileSchema } from './structural/compiled.ts';
export { defaultErrors } from './structural/default-rules.ts';
export { duplicateFields } from './structural/duplicates.ts';
export { MalformedResource, readMetadata } from './structural/embedded.ts';
export { BadFieldReference, type FieldReference, resolveFieldReference } from './structural/field-reference.ts';
export { formatCheck } from './structural/formats.ts';
export { copyJson, own, setOwn } from './structural/own.ts';
export { readSchema, readSchemaInParts, type Schema, type ValidationRule } from './structural/schema.ts';
export { isUnreadable, schemaErrors } from './structural/schema-rules.ts';
export { structuralErrors } from './structural/structural-rules.ts';
export { isUnchanged, oldItems } from './structural/unchanged.ts';
export { age, humanDuration } from './time/duration.ts';
export { formatMicroTime, formatTime, parseTime } from './time/time.ts';
export { Trouble, type TroubleFacts, type TroubleOptions } from './trouble/trouble.ts';
export { endsPart, limitStepsInParts, type Parts, whole } from './work/parts.ts';
export { type Counted, countSteps, enterLimit, leaveLimit, limitSteps, OutOfSteps, spend, spendText, spentPart } from './work/steps.ts';
