/** The version of Kubernetes whose API is spoken: clients decide by it what they may use. */
const speaks = { major: '1', minor: '34' };

/** The answer of `/version`. */
export function versionInfo(): object {
  return {
    ...speaks,
    emulationMajor: speaks.major,
    emulationMinor: speaks.minor,
    minCompatibilityMajor: speaks.major,
    minCompatibilityMinor: '33',
    gitVersion: 'v1.34.1+capstan',
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node ${process.version}`,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
