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

/** What a new expression may use. */
export const newFunctions = functionTable(libraries);

/** What an expression that makes JSON patches may use. */
export const patchFunctions = functionTable([...libraries, jsonPatch]);

/** What an expression that is stored already may use: also what came with Kubernetes 1.34. */
export const storedFunctions = functionTable([...libraries, newestLists]);

export const kubernetesTypeNames: ReadonlyMap<string, Type> = new Map<string, Type>([
  ...standardTypeNames,
  ['net.IP', opaqueOf('net.IP')],
  ['net.CIDR', opaqueOf('net.CIDR')],
]);
