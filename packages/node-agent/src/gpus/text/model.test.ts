import { expect, test } from 'vitest';
import { modelOf } from './model.ts';

test.each([
  ['NVIDIA H200', 'H200'],
  ['NVIDIA H200 NVL', 'H200-NVL'],
  ['NVIDIA H100 80GB HBM3', 'H100'],
  ['NVIDIA H100 PCIe', 'H100-PCIe'],
  ['NVIDIA H100 NVL', 'H100-NVL'],
  ['NVIDIA A100-SXM4-80GB', 'A100-80GB'],
  ['NVIDIA A100-SXM4-40GB', 'A100-40GB'],
  ['NVIDIA A100-PCIE-40GB', 'A100-40GB'],
  ['NVIDIA A100 80GB PCIe', 'A100-80GB'],
  ['Tesla V100-SXM2-32GB', 'V100-32GB'],
  ['Tesla T4', 'T4'],
  ['NVIDIA L40S', 'L40S'],
  ['NVIDIA B200', 'B200'],
  ['NVIDIA GH200 144G HBM3e', 'GH200-144GB'],
  ['NVIDIA GeForce RTX 4090', 'RTX-4090'],
  ['NVIDIA RTX 6000 Ada Generation', 'RTX-6000-Ada'],
  ['NVIDIA RTX A6000', 'RTX-A6000'],
  ['AMD Instinct MI300X', 'MI300X'],
  ['AMD Instinct MI300X VF', 'MI300X'],
  ['AMD Instinct MI300X OAM', 'MI300X'],
  ['AMD INSTINCT MI250 (MCM) OAM AC MBA', 'MI250'],
  ['AMD Radeon PRO W7800', 'PRO-W7800'],
  ['Navi 23 [Radeon RX 6600/6600 XT', 'Navi-23'],
  ['', 'unknown'],
  ['🜁', 'unknown'],
])('%s is %s', (productName, model) => {
  expect(modelOf(productName)).toBe(model);
});
