/** The Go to fetch if there is none, with its checksums for each platform from Go's checksum database. */
export const pinned = {
  version: '1.26.8',
  /** Required by the newest go.mod in `tools/`. */
  atLeast: '1.26.0',
  checksums: new Map([
    ['linux-amd64', 'h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM='],
    ['linux-arm64', 'h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc='],
    ['darwin-arm64', 'h1:dFjGhY6f8DTsY8/rLchUTDRRfjJP4pCrGCwxvHFT2Fg='],
    ['darwin-amd64', 'h1:7/9KPPN8PckcA9s91hm2jmQMhzW4KyTJXHIs45L0C9M='],
  ]),
};
