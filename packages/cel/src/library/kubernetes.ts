import { standardTypeNames } from '../check/environment.ts';
import { objectOf, opaqueOf, type Type } from '../types/type.ts';
import { authorization } from './authorizer.ts';
import { conversions } from './conversions.ts';
import { functionTable } from './function.ts';
import { lists } from './lists.ts';
import { namedFormat } from './namedFormat.ts';
import { network } from './network.ts';
import { operators } from './operators.ts';
import { optional } from './optional.ts';
import { quantity } from './quantity.ts';
import { regex } from './regex.ts';
import { semver } from './semver.ts';
import { strings } from './strings.ts';
import { time } from './time.ts';
import { url } from './url.ts';

/** All functions that Kubernetes 1.34 gives to expressions. */
export const kubernetesFunctions = functionTable([
  operators,
  conversions,
  time,
  regex,
  optional,
  lists,
  strings,
  url,
  quantity,
  network,
  namedFormat,
  semver,
  authorization,
]);

const objectNames = [
  'kubernetes.URL',
  'kubernetes.Quantity',
  'kubernetes.Semver',
  'kubernetes.NamedFormat',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.ResourceCheck',
  'kubernetes.authorization.Decision',
];

export const kubernetesTypeNames: ReadonlyMap<string, Type> = new Map<string, Type>([
  ...standardTypeNames,
  ...objectNames.map((name): [string, Type] => [name, objectOf(name)]),
  ['net.IP', opaqueOf('net.IP')],
  ['net.CIDR', opaqueOf('net.CIDR')],
]);
