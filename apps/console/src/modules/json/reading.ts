import { isObject, type JsonObject } from '@capstan/machinery/objects';

/** The fields of a value that should be an object; none if it is something else. */
export const fieldsOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** A text, empty if the value is something else. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
