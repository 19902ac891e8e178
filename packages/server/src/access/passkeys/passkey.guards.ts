/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { passkeyExamples } from './passkey.examples.ts';

export const passkeyGuards: SliceGuards = { examples: passkeyExamples };
