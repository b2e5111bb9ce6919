import type { AnyForm, Scalar, Type } from '../schema/type.ts';

const scalarNames: Record<Scalar, string> = {
  string: 'string',
  bytes: '[]uint8',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
  time: 'v1.Time',
  microTime: 'v1.MicroTime',
  duration: 'v1.Duration',
  quantity: 'resource.Quantity',
  intOrString: 'intstr.IntOrString',
};

const anyNames: Record<AnyForm, string> = {
  raw: 'runtime.RawExtension',
  json: 'v1.JSON',
  schemaOrBool: 'v1.JSONSchemaPropsOrBool',
  schemaOrArray: 'v1.JSONSchemaPropsOrArray',
  schemaOrStringArray: 'v1.JSONSchemaPropsOrStringArray',
};

/** The type's name in Go's JSON errors: `v1.Container`, `[]v1.OwnerReference`, `map[string]string`. */
export function goTypeName(type: Type): string {
  switch (type.kind) {
    case 'scalar':
      return type.goName ?? scalarNames[type.scalar];
    case 'object':
      return type.name.split('.').slice(-2).join('.');
    case 'list':
      return type.goName ?? `[]${goTypeName(type.items)}`;
    case 'map':
      return type.goName ?? `map[string]${goTypeName(type.values)}`;
    case 'any':
      return anyNames[type.form ?? 'raw'];
  }
}
