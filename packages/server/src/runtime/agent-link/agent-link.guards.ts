/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { agentLinkExamples } from './agent-link.examples.ts';

export const agentLinkGuards: SliceGuards = {
  examples: {},
  protocolExamples: agentLinkExamples,
};
