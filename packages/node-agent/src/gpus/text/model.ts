/** Words that tell nothing about which card it is. */
const noise = new Set([
  'nvidia',
  'tesla',
  'quadro',
  'geforce',
  'amd',
  'ati',
  'instinct',
  'radeon',
  'graphics',
  'generation',
  'server',
  'edition',
  'oam',
  'vf',
  'ac',
  'mba',
  'accelerator',
]);

/** Products that are sold with different amounts of memory, which requests must be able to tell apart. */
const soldInSizes = /^(?:A100|A100X|A800|V100|V100S|P100|K80|GH200|A2000)$/;

/** Products whose PCIe cards are so much slower than their modules that they count as a model of their own. */
const slowerOnPcie = /^(?:H100|H800|H20)$/;

/**
 * The short name of a product: `NVIDIA A100-SXM4-80GB` is `A100-80GB`, `NVIDIA H100 80GB HBM3` is `H100`, `AMD Instinct MI300X OAM` is `MI300X`. Products that
 * this function does not know keep their words, joined by hyphens.
 */
export function modelOf(productName: string): string {
  const words = productName
    .replaceAll(/\([^)]{0,80}\)|\[[^\]]{0,80}\]?/g, ' ')
    .split(/[\s,/]+|-(?=(?:SXM|PCIE|\d+GB))/i)
    .filter((word) => word !== '' && !noise.has(word.toLowerCase()));
  const base = words.find((word) => /\d/.test(word) && !isDetail(word));
  const kept = words.filter((word) => !isDetail(word) || (/^\d+GB?$/i.test(word) && soldInSizes.test(base ?? '')));
  if (slowerOnPcie.test(base ?? '') && words.some((word) => /^pcie$/i.test(word))) kept.push('PCIe');
  const name = kept.map((word) => (/^\d+G$/i.test(word) ? `${word}B` : word)).join('-');
  return name.replaceAll(/[^A-Za-z0-9.-]+/g, '').slice(0, 63) || 'unknown';
}

/** Form factors, kinds of memory and amounts of memory. */
function isDetail(word: string): boolean {
  return /^(?:SXM\d?|PCIE|HBM\w{0,3}|\d+GB?)$/i.test(word);
}
