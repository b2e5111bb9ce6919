/**
 * The meaning of an Xid for the card.
 *
 * - `condemns`: the hardware is broken or its data is not to be trusted. The card gets no work until the machine has been restarted or an owner clears it.
 * - `reset`: the card does not work until it is reset.
 * - `watch`: the card works and may be failing. The mark expires.
 * - `application`: a program made a mistake. The card is fine.
 */
export type XidClass = 'condemns' | 'reset' | 'watch' | 'application';

export interface Xid {
  readonly class: XidClass;
  readonly meaning: string;
}

/**
 * The codes of NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors). Classes follow its immediate actions, with one difference: memory and link errors that its
 * workflows send to hardware diagnosis condemn the card here, because the next tenant must not find out. Codes that are unused or missing are watched.
 */
const table: ReadonlyMap<number, Xid> = new Map<number, Xid>([
  ...all('application', {
    8: 'the GPU stopped processing a channel',
    11: 'a program sent an invalid stream of commands',
    13: 'a program caused an exception in the graphics engine, such as an access beyond an array',
    14: 'an error was injected for a test',
    25: 'a program sent an illegal stream of commands',
    31: 'a program accessed memory that is not mapped',
    32: 'the stream of commands was invalid or damaged',
    37: 'the driver used a method that the firmware does not know',
    38: 'the firmware of the driver was too slow',
    43: 'a program stopped after an error of its own',
    44: 'the graphics engine faulted while it changed contexts',
    45: 'a program was ended, or its channels were removed after an earlier error',
    60: 'the video processor had an exception',
    66: 'the driver accessed a register that it may not',
    67: 'the driver accessed something that it may not',
    68: 'a video decoder had an exception',
    69: 'a program used the graphics engine wrongly',
    80: 'damaged data was sent to the GPU',
    86: 'the optical flow engine had an exception',
    106: 'a test message',
    107: 'a test message',
    137: 'a program accessed the memory of another GPU wrongly over NVLink',
    141: 'an error on the fast path of CUDA',
  }),
  ...engines([39, 40, 41, 70, 71, 72, 75, 76, 77, 85, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135], 'a copy engine had an exception'),
  ...engines([82, 99, 100, 101, 102, 103, 104, 105], 'a JPEG decoder had an exception'),
  ...engines([83, 84, 88, 89, 96, 97, 98, 139], 'a video engine had an exception'),
  ...all('watch', {
    63: 'a row of the memory was remapped or a page retired',
    92: 'many single-bit memory errors were corrected',
    93: 'the limit of writes to the InfoROM was reached',
    94: 'an uncorrectable memory error stopped one program and was contained',
    121: 'errors on the link to the CPU were corrected',
    156: 'a part of the chip was taken out of use',
    157: 'a part of the chip could not be taken out of use, because no spares are left',
    160: 'a memory channel was taken out of use',
    161: 'a memory channel could not be taken out of use',
    163: 'power smoothing was turned off',
    164: 'the circuit for power smoothing is near its end of life',
    165: 'the circuit for power smoothing is at its end of life',
    168: 'the memory is smaller than it should be',
  }),
  ...all('reset', {
    46: 'the GPU stopped processing',
    62: 'the microcontroller for power management halted',
    109: 'the GPU could not change between contexts in time',
    110: 'a security fault',
    119: 'the GPU system processor did not answer in time',
    120: 'the GPU system processor failed',
    136: 'the training of an NVLink failed',
    143: 'the GPU could not be initialised',
    151: 'the rotation of encryption keys failed',
    155: 'an NVLink was taken down',
    158: 'the GPU did not answer in time, and cannot go on',
    159: 'an error on the link to the CPU',
    167: 'a PCIe access did not end',
    169: 'the security microcontroller halted',
  }),
  ...all('condemns', {
    48: 'an uncorrectable (double-bit) memory error',
    54: 'the auxiliary power of the board is not connected',
    64: 'a row of the memory could not be remapped, or a page not retired',
    74: 'an NVLink failed',
    79: 'the GPU has fallen off the bus',
    95: 'an uncorrectable memory error was not contained and may have reached other programs',
    140: 'uncorrectable memory errors, some of which could not be recorded',
    171: 'an uncorrectable error in the memory',
    172: 'an uncorrectable error in the memory of the chip',
  }),
  ...[144, 145, 146, 147, 148, 149, 150].map((code) => [code, { class: 'condemns', meaning: 'an NVLink failed' }] as const),
]);

/** Says which recovery the driver asks for now; the next report has it too. */
export const recoveryXid = 154;

export function describeXid(code: number): Xid {
  return table.get(code) ?? { class: 'watch', meaning: 'an error that NVIDIA does not describe' };
}

function all(kind: XidClass, meanings: Readonly<Record<number, string>>): [number, Xid][] {
  return Object.entries(meanings).map(([code, meaning]) => [Number(code), { class: kind, meaning }]);
}

function engines(codes: readonly number[], meaning: string): [number, Xid][] {
  return codes.map((code) => [code, { class: 'application', meaning }]);
}
