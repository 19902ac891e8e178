import type { Slice } from '../../kernel/slice/slice.ts';

export { type Gate, gateColumns, gateRow, requireUnchangedGate } from './quality-gate.store.ts';
export {
  createRetainedFiles,
  createUploadWarning,
  describeGateErrors,
  type GatedVersion,
  listFindings,
  passGate,
  type RetainedFiles,
} from './quality-gate.ts';
export {
  createReviewer,
  type Reviewer,
  type ReviewResult,
  type ReviewSource,
} from './reviewer.ts';

/** Has no routes: the rules of the quality review for the slices that publish and review. */
export const qualityRules: Slice = { name: 'quality-rules' };
