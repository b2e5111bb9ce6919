/** The scripts of this adapter, without the prefix of their NodeScripts. */
export type ScriptName =
  | 'preflight'
  | 'keep'
  | 'install'
  | 'unit'
  | 'form'
  | 'endpoint'
  | 'halt'
  | 'wait'
  | 'join-token'
  | 'access'
  | 'label'
  | 'addons'
  | 'drain'
  | 'uncordon'
  | 'forget'
  | 'snapshot'
  | 'restore'
  | 'rotate'
  | 'uninstall'
  | 'residue'
  | 'probe';

/** The codes of errors by the exit codes of scripts. The scripts explain them in their output. */
export const exitCodes: Readonly<Partial<Record<ScriptName, Readonly<Record<string, string>>>>> = {
  preflight: {
    '20': 'OtherDistribution',
    '21': 'PortInUse',
    '22': 'NoDefaultRoute',
    '23': 'LeftoverState',
    '24': 'FirewallActive',
    '25': 'ArchitectureNotSupported',
    '26': 'ContainerRuntimeMissing',
    '27': 'DiskFull',
  },
  install: { '30': 'ArtifactMissing', '31': 'InstallFailed', '32': 'WrongVersion' },
  unit: { '35': 'UnitMissing', '36': 'UnitFailed' },
  form: { '44': 'TokenRejected', '46': 'InitFailed', '47': 'JoinFailed', '48': 'NetworkNotApplied', '49': 'ResetFailed' },
  wait: {
    '38': 'ClockWrong',
    '40': 'ServiceFailed',
    '41': 'ApiNotReady',
    '42': 'NodeNotReady',
    '43': 'NodePasswordRejected',
    '44': 'TokenRejected',
  },
  'join-token': { '45': 'TokenMissing', '53': 'CertificatesNotShared' },
  access: { '50': 'KubeconfigMissing', '51': 'AccessNotGranted' },
  drain: { '55': 'ApiNotReady', '56': 'DrainBlocked' },
  uncordon: { '55': 'ApiNotReady', '57': 'CordonedByOthers' },
  forget: { '55': 'ApiNotReady', '58': 'EtcdMemberStays', '59': 'NodeStays' },
  snapshot: { '60': 'SnapshotFailed' },
  restore: { '61': 'SnapshotNotFound', '62': 'ServiceStillRuns', '63': 'RestoreFailed' },
  addons: { '66': 'ArtifactMissing', '67': 'DevicePluginNotApplied' },
  label: { '64': 'NodeNotLabelled' },
  rotate: { '65': 'RotationFailed' },
  uninstall: { '70': 'ProcessesRemain' },
};
