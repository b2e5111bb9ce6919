import { allocationMarker } from '../../../processes/proc.ts';
import { type UnitRoom, unitMarker, uploadPath } from '../driver.ts';

/** The home of the user of an isolated unit. */
export const unitHome = '/home/unit';

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Nothing of the agent's own environment is in it. Variables of the tenant win, except for the markers of the allocation and the unit. */
export function environmentOf(room: UnitRoom, home: string, user: string): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    USER: user,
    LOGNAME: user,
    HOSTNAME: room.hostname,
    LANG: 'C.UTF-8',
    ...sharedEnvironment(room),
  };
}

/** The part that does not depend on where the files of a unit come from. */
export function sharedEnvironment(room: UnitRoom): Record<string, string> {
  return {
    ...(room.tty ? { TERM: 'xterm-256color' } : {}),
    ...visibleDevices(room),
    ...room.environment,
    [allocationMarker]: room.allocation,
    [unitMarker]: room.id,
  };
}

/** Libraries of the vendors show all GPUs unless they are told which; an empty list shows none. */
export function visibleDevices(room: UnitRoom): Record<string, string> {
  const of = (vendor: string): string =>
    room.devices
      .filter((device) => device.vendor === vendor)
      .map((device) => device.uuid)
      .join(',');
  const nvidia = of('nvidia');
  return { CUDA_VISIBLE_DEVICES: nvidia, NVIDIA_VISIBLE_DEVICES: nvidia === '' ? 'void' : nvidia, ROCR_VISIBLE_DEVICES: of('amd') };
}

export function workingDirectoryOf(room: UnitRoom, home: string): string {
  return room.workingDirectory ?? (room.uploads === undefined ? home : uploadPath);
}

/** Files that GPUs of a vendor need in addition to their own. Missing ones of the second kind are left out. */
export function deviceFilesOf(room: UnitRoom): { readonly required: string[]; readonly optional: string[] } {
  const required = new Set(room.devices.flatMap((device) => device.files));
  const has = (vendor: string): boolean => room.devices.some((device) => device.vendor === vendor && device.files.length > 0);
  const optional = [
    ...(has('nvidia') ? ['/dev/nvidiactl', '/dev/nvidia-uvm', '/dev/nvidia-uvm-tools'] : []),
    ...(has('amd') ? ['/dev/kfd'] : []),
  ];
  return { required: [...required], optional: optional.filter((file) => !required.has(file)) };
}
