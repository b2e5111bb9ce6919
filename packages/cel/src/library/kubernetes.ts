import { standardTypeNames } from '../check/environment.ts';
import { opaqueOf, type Type } from '../types/type.ts';
import { authorization } from './authorizer.ts';
import { conversions } from './conversions.ts';
import { functionTable } from './function.ts';
import { lists, newestLists } from './lists.ts';
import { namedFormat } from './named-format.ts';
import { network } from './network.ts';
import { operators } from './operators.ts';
import { optional } from './optional.ts';
import { quantity } from './quantity.ts';
import { regex } from './regex.ts';
import { semver } from './semver.ts';
import { strings } from './strings.ts';
import { time } from './time.ts';
import { jsonPatch, url } from './url.ts';

const libraries = [
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
];

/** The functions for new expressions. */
export const newFunctions = functionTable(libraries);

/** The functions for expressions that create JSON patches. */
export const patchFunctions = functionTable([...libraries, jsonPatch]);

/** The functions for stored expressions, including those new in Kubernetes 1.34. */
export const storedFunctions = functionTable([...libraries, newestLists]);

export const kubernetesTypeNames: ReadonlyMap<string, Type> = new Map<string, Type>([
  ...standardTypeNames,
  ['net.IP', opaqueOf('net.IP')],
  ['net.CIDR', opaqueOf('net.CIDR')],
]);
