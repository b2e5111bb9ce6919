import { confinementPart } from './confinement.ts';
import { foldersPart } from './folders.ts';
import { groupsPart } from './groups.ts';
import { monitorPart } from './monitor.ts';
import { networkPart } from './network.ts';
import { outputPart } from './output.ts';
import { portsPart } from './ports.ts';
import { programPart } from './program.ts';
import { roomPart } from './room.ts';
import { servingPart } from './serving.ts';
import { systemPart } from './system.ts';

/** The launcher of units: a Perl program that uses no modules, so that a machine with nothing but `perl-base` can run it. */
export const launcherProgram = [
  systemPart,
  confinementPart,
  groupsPart,
  roomPart,
  foldersPart,
  networkPart,
  programPart,
  outputPart,
  servingPart,
  portsPart,
  monitorPart,
].join('');
